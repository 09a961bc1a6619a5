# What `cmake --install` puts where: headers, both libraries, the command, and files for pkg-config and find_package.
include(CMakePackageConfigHelpers)

set(config_folder ${CMAKE_INSTALL_LIBDIR}/cmake/ronchi)

install(DIRECTORY include/ronchi DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")

# find_package(ronchi) gives ronchi::ronchi (shared) and ronchi::ronchi_static.
set_target_properties(ronchi_shared PROPERTIES EXPORT_NAME ronchi)
install(TARGETS ronchi_shared ronchi_static EXPORT ronchi
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(RONCHI_CUDA)
  install(TARGETS ronchi_cuda LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}) # beside libronchi, where alone it is looked for
endif()
install(EXPORT ronchi NAMESPACE ronchi:: FILE ronchiTargets.cmake DESTINATION ${config_folder})

# The command finds its library beside it, wherever the prefix is moved to.
file(RELATIVE_PATH lib_from_bin ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
set_target_properties(ronchi_command PROPERTIES INSTALL_RPATH "$ORIGIN/${lib_from_bin}")
install(TARGETS ronchi_command RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})

string(REPLACE ";" " " modules_text "${RONCHI_MODULES}")
configure_package_config_file(cmake/ronchiConfig.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/ronchiConfig.cmake
                              INSTALL_DESTINATION ${config_folder})
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/ronchiConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/ronchiConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/ronchiConfigVersion.cmake
        DESTINATION ${config_folder})

# ronchi.pc names its folders relative to itself, so a moved prefix keeps working.
file(RELATIVE_PATH prefix_from_pc ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
configure_file(cmake/ronchi.pc.in ${CMAKE_CURRENT_BINARY_DIR}/ronchi.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/ronchi.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
