/* SPDX-License-Identifier: MIT */
/* hdf5_guard.c - see the header. */
#include "formats/hdf5_guard.h"

#include "core/port.h"

void ronchi_hdf5_enter(ronchi_hdf5_guard *guard)
{
    ronchi_library_lock(RONCHI_LIBRARY_HDF5);
    guard->print = NULL;
    guard->user = NULL;
    H5Eget_auto2(H5E_DEFAULT, &guard->print, &guard->user);
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
}

void ronchi_hdf5_leave(const ronchi_hdf5_guard *guard)
{
    H5Eset_auto2(H5E_DEFAULT, guard->print, guard->user);
    ronchi_library_unlock(RONCHI_LIBRARY_HDF5);
}
