/* SPDX-License-Identifier: MIT */
/*
 * rotate.c - rotations held against NumPy: SHA-256 of all counts of the result.  The table is printed by
 * rotate_model.py beside this file, which says what the counts are.
 */
#include "test.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>

#include "core/internal.h"
#include "ronchi/ronchi.h"

enum { DR = 6, DC = 5 };

static const struct {
    size_t rows, cols;
    double angle;
    int32_t output;
    double fill;
    size_t out_rows, out_cols;
    const char *sha256;
} cases[] = {
    {13, 21, 0, 0, 0, 13, 21, "29becc25857841c8c318ffd484705c3e9be516ad417fda7eec1c3f2d8b4dcb10"},
    {13, 21, 0, 0, 7, 13, 21, "29becc25857841c8c318ffd484705c3e9be516ad417fda7eec1c3f2d8b4dcb10"},
    {13, 21, 0, 1, 0, 13, 21, "29becc25857841c8c318ffd484705c3e9be516ad417fda7eec1c3f2d8b4dcb10"},
    {13, 21, 0, 1, 7, 13, 21, "29becc25857841c8c318ffd484705c3e9be516ad417fda7eec1c3f2d8b4dcb10"},
    {13, 21, 90, 0, 0, 21, 13, "997e38587f4fa2922b41386a6f1e4195404eece9fb86225e0c487c392dbb5c2f"},
    {13, 21, 90, 0, 7, 21, 13, "997e38587f4fa2922b41386a6f1e4195404eece9fb86225e0c487c392dbb5c2f"},
    {13, 21, 90, 1, 0, 13, 21, "a6830e203d7f27ff7394c4b0fc20b98d0c6834a6ca856bab11931ff5587f2199"},
    {13, 21, 90, 1, 7, 13, 21, "c7f45b666866e9acf55e8d496f06bf1790a4a5d5baade48c56c3651d2ceca4d9"},
    {13, 21, -90, 0, 0, 21, 13, "2c6f955d0e7ebb84b371e672c993e61fe6a327e3c42490a767450d0240edcf30"},
    {13, 21, -90, 0, 7, 21, 13, "2c6f955d0e7ebb84b371e672c993e61fe6a327e3c42490a767450d0240edcf30"},
    {13, 21, -90, 1, 0, 13, 21, "3a8acf9efa970f9da6f33162d6a00f909804cbb32aebd65cd5636bb28c5ce17b"},
    {13, 21, -90, 1, 7, 13, 21, "95f938b982e034f4461bd704a162e6db9763aa5f8ea6bbcd2a54c9db3746c90a"},
    {13, 21, 180, 0, 0, 13, 21, "f80e1294698884475a75b9c2e485b895bbc403cae9508cacacde22f8d9c31e13"},
    {13, 21, 180, 0, 7, 13, 21, "f80e1294698884475a75b9c2e485b895bbc403cae9508cacacde22f8d9c31e13"},
    {13, 21, 180, 1, 0, 13, 21, "f80e1294698884475a75b9c2e485b895bbc403cae9508cacacde22f8d9c31e13"},
    {13, 21, 180, 1, 7, 13, 21, "f80e1294698884475a75b9c2e485b895bbc403cae9508cacacde22f8d9c31e13"},
    {13, 21, 270, 0, 0, 21, 13, "2c6f955d0e7ebb84b371e672c993e61fe6a327e3c42490a767450d0240edcf30"},
    {13, 21, 270, 0, 7, 21, 13, "2c6f955d0e7ebb84b371e672c993e61fe6a327e3c42490a767450d0240edcf30"},
    {13, 21, 270, 1, 0, 13, 21, "3a8acf9efa970f9da6f33162d6a00f909804cbb32aebd65cd5636bb28c5ce17b"},
    {13, 21, 270, 1, 7, 13, 21, "95f938b982e034f4461bd704a162e6db9763aa5f8ea6bbcd2a54c9db3746c90a"},
    {13, 21, 450, 0, 0, 21, 13, "997e38587f4fa2922b41386a6f1e4195404eece9fb86225e0c487c392dbb5c2f"},
    {13, 21, 450, 0, 7, 21, 13, "997e38587f4fa2922b41386a6f1e4195404eece9fb86225e0c487c392dbb5c2f"},
    {13, 21, 450, 1, 0, 13, 21, "a6830e203d7f27ff7394c4b0fc20b98d0c6834a6ca856bab11931ff5587f2199"},
    {13, 21, 450, 1, 7, 13, 21, "c7f45b666866e9acf55e8d496f06bf1790a4a5d5baade48c56c3651d2ceca4d9"},
    {13, 21, 30, 0, 0, 22, 25, "79214b6fe9863ace7ab1ff0763212ec4cb1f1c99e20b61d63e829d83d07c06fe"},
    {13, 21, 30, 0, 7, 22, 25, "1ee384eead67713b1ad9e1f2c6bc4ac4ea42c9ffe604439d3d6f83570bf8dd01"},
    {13, 21, 30, 1, 0, 13, 21, "440ab482df8c9e1a1020513023de81ea95ea794fb8b4e06d8e789d32f6534f00"},
    {13, 21, 30, 1, 7, 13, 21, "5d1b9d57b866264a2670b9ee790fa91c6d935b69a4fc9bdade1677e546ea0421"},
    {13, 21, -45, 0, 0, 25, 25, "aea3e122d6faace18dc5acee1096814f1fbd3a81c72c720cf0426f895a224cf5"},
    {13, 21, -45, 0, 7, 25, 25, "af2895efa23f87a07cac5c2603348fec53b94978f8e609bdaac7109d3030bfb1"},
    {13, 21, -45, 1, 0, 13, 21, "be381b7e010af0fa870a5500219ca8dfc6102745686bc666a6a42960b3a9dafe"},
    {13, 21, -45, 1, 7, 13, 21, "1b030ab1497e4704b56533c8e4216849c810864cb75c1b1dce5b8197c2c466c4"},
    {13, 21, 123.4, 0, 0, 25, 23, "bf285736e7127fe681ab66bb0b42b519c3772e1a9c6d6c495488c4951af08f2b"},
    {13, 21, 123.4, 0, 7, 25, 23, "69763a1d7cd5ca1c113099c4e92e376d217c70344d82f6e8cdffe772fce56bfe"},
    {13, 21, 123.4, 1, 0, 13, 21, "2f044945cc2cd952335fa98f4ffd5b1f93a2e76901affcac7da769b8b50f851d"},
    {13, 21, 123.4, 1, 7, 13, 21, "c6c45daa37701dc6b9ab1d5579f2db3ecc6ea9f2c9a553855158f506966ca4dc"},
    {13, 21, 33, 0, 0, 23, 25, "f5c41cd532713ad4daada38a463689b8a1df65bed23a3c25388b0c6db9f016bd"},
    {13, 21, 33, 0, 7, 23, 25, "2beb6d3cd1547f1a29257596e80d6354643500c9699eeada00882978826acd48"},
    {13, 21, 33, 1, 0, 13, 21, "02bc816b9b8a4fcdf3044f82c90773033634cc7b84d2c44579c7deceb5174ec3"},
    {13, 21, 33, 1, 7, 13, 21, "8caa19c3e2ad1ce9230f2e487be0dc0bc9448aaf5f1f20e04fb459e9c5625de1"},
    {16, 16, 0, 0, 0, 16, 16, "545aa34da997ec50465ae637492cf4a91c56fe119e142d3a2f41eaf67859c496"},
    {16, 16, 0, 0, 7, 16, 16, "545aa34da997ec50465ae637492cf4a91c56fe119e142d3a2f41eaf67859c496"},
    {16, 16, 0, 1, 0, 16, 16, "545aa34da997ec50465ae637492cf4a91c56fe119e142d3a2f41eaf67859c496"},
    {16, 16, 0, 1, 7, 16, 16, "545aa34da997ec50465ae637492cf4a91c56fe119e142d3a2f41eaf67859c496"},
    {16, 16, 90, 0, 0, 16, 16, "62fcf6cb01ea539f6827c7c60127a2d7f5daf6437442a85aabf9e430c853594a"},
    {16, 16, 90, 0, 7, 16, 16, "62fcf6cb01ea539f6827c7c60127a2d7f5daf6437442a85aabf9e430c853594a"},
    {16, 16, 90, 1, 0, 16, 16, "62fcf6cb01ea539f6827c7c60127a2d7f5daf6437442a85aabf9e430c853594a"},
    {16, 16, 90, 1, 7, 16, 16, "62fcf6cb01ea539f6827c7c60127a2d7f5daf6437442a85aabf9e430c853594a"},
    {16, 16, -90, 0, 0, 16, 16, "114071ce3d92dc9b1aa1184cf58e363473952495941b221025070a12ea86d710"},
    {16, 16, -90, 0, 7, 16, 16, "114071ce3d92dc9b1aa1184cf58e363473952495941b221025070a12ea86d710"},
    {16, 16, -90, 1, 0, 16, 16, "114071ce3d92dc9b1aa1184cf58e363473952495941b221025070a12ea86d710"},
    {16, 16, -90, 1, 7, 16, 16, "114071ce3d92dc9b1aa1184cf58e363473952495941b221025070a12ea86d710"},
    {16, 16, 180, 0, 0, 16, 16, "4cf2780cb4b17a1c153c1fa4c56ed738e09ef1fea00a82dcfe1692945fc8cb60"},
    {16, 16, 180, 0, 7, 16, 16, "4cf2780cb4b17a1c153c1fa4c56ed738e09ef1fea00a82dcfe1692945fc8cb60"},
    {16, 16, 180, 1, 0, 16, 16, "4cf2780cb4b17a1c153c1fa4c56ed738e09ef1fea00a82dcfe1692945fc8cb60"},
    {16, 16, 180, 1, 7, 16, 16, "4cf2780cb4b17a1c153c1fa4c56ed738e09ef1fea00a82dcfe1692945fc8cb60"},
    {16, 16, 270, 0, 0, 16, 16, "114071ce3d92dc9b1aa1184cf58e363473952495941b221025070a12ea86d710"},
    {16, 16, 270, 0, 7, 16, 16, "114071ce3d92dc9b1aa1184cf58e363473952495941b221025070a12ea86d710"},
    {16, 16, 270, 1, 0, 16, 16, "114071ce3d92dc9b1aa1184cf58e363473952495941b221025070a12ea86d710"},
    {16, 16, 270, 1, 7, 16, 16, "114071ce3d92dc9b1aa1184cf58e363473952495941b221025070a12ea86d710"},
    {16, 16, 450, 0, 0, 16, 16, "62fcf6cb01ea539f6827c7c60127a2d7f5daf6437442a85aabf9e430c853594a"},
    {16, 16, 450, 0, 7, 16, 16, "62fcf6cb01ea539f6827c7c60127a2d7f5daf6437442a85aabf9e430c853594a"},
    {16, 16, 450, 1, 0, 16, 16, "62fcf6cb01ea539f6827c7c60127a2d7f5daf6437442a85aabf9e430c853594a"},
    {16, 16, 450, 1, 7, 16, 16, "62fcf6cb01ea539f6827c7c60127a2d7f5daf6437442a85aabf9e430c853594a"},
    {16, 16, 30, 0, 0, 22, 22, "a106f5f4cf2395499265f7b6868140b966d06b2e9b6aa7fdbe7dd8a358ccc2bc"},
    {16, 16, 30, 0, 7, 22, 22, "6f91542ff3ddb6763fac161b4f29727ae60b2fdcc73713e6be87ab58e047f630"},
    {16, 16, 30, 1, 0, 16, 16, "9cdd20a997d6401ae419e3b2b4ab2c28067f947a72b0e28ec7b3d46d8fd7093f"},
    {16, 16, 30, 1, 7, 16, 16, "79ca50b4add471afcd7f076e5104ef987754b53b2cc82ffbb7eebb5c1f0039c1"},
    {16, 16, -45, 0, 0, 23, 23, "0e4aa84d070729b58b02b79cc173dcaa0a70b761997d2577d6024ebab975d16c"},
    {16, 16, -45, 0, 7, 23, 23, "6254add25a41582758fa7c4b2f9538d7c42d2af01d896ab5a9f8f6f284dc4ffc"},
    {16, 16, -45, 1, 0, 16, 16, "3f53d3dd7f94e64e3aadfaa968f01c72617eef7cb7e17492beb7536cdee1199b"},
    {16, 16, -45, 1, 7, 16, 16, "0aef3aac91e0b1da842b4a996a72e2d7e723cd1ae89fded3277fe53c196dc1e3"},
    {16, 16, 123.4, 0, 0, 23, 23, "1d1b91a31e073fcf3b234038f4c89b75e37babbd9da7ec18ff6609df8b51e764"},
    {16, 16, 123.4, 0, 7, 23, 23, "04bb2e5306e4177e09d23da62ee1a420db3cc56aa7726de3209b69f195e52b34"},
    {16, 16, 123.4, 1, 0, 16, 16, "ca82ac49e3b0b96db7d6cf00d7e8d0a8ea744431c605de86ad19d5c648920455"},
    {16, 16, 123.4, 1, 7, 16, 16, "5bc37cce55e9c711784835841ce5f7135591ebd4234d16ed5cf738b124fb9e10"},
    {16, 16, 33, 0, 0, 23, 23, "de6c9ffa7d09caa37a722fb39ea21cc455c08be58f4a7fe702ee53381028e340"},
    {16, 16, 33, 0, 7, 23, 23, "e5a0dcc36d8da1002c211e75e772a5b9640aaf8e221f6724a9fd13b2b81332b0"},
    {16, 16, 33, 1, 0, 16, 16, "1ed74ab8326e2b7fe159f75f23dd52dd8b745990d80802545e96391440d9f0b3"},
    {16, 16, 33, 1, 7, 16, 16, "2b31ccbd87ef2f4b0860544512c6601a918b1976990bba6185298757a3ba6cce"},
    {9, 4, 0, 0, 0, 9, 4, "9e8c313e82b23867e48e7e28d6d733aaa344dc101befabd0fce4851d23b88a9c"},
    {9, 4, 0, 0, 7, 9, 4, "9e8c313e82b23867e48e7e28d6d733aaa344dc101befabd0fce4851d23b88a9c"},
    {9, 4, 0, 1, 0, 9, 4, "9e8c313e82b23867e48e7e28d6d733aaa344dc101befabd0fce4851d23b88a9c"},
    {9, 4, 0, 1, 7, 9, 4, "9e8c313e82b23867e48e7e28d6d733aaa344dc101befabd0fce4851d23b88a9c"},
    {9, 4, 90, 0, 0, 4, 9, "2936e3ff4595e1d9630cca16095a11f6f20db99148c6f80078b39332cd798084"},
    {9, 4, 90, 0, 7, 4, 9, "2936e3ff4595e1d9630cca16095a11f6f20db99148c6f80078b39332cd798084"},
    {9, 4, 90, 1, 0, 9, 4, "5b754ddc8b0666753fef243794631a45ff3c60751742e0e59d27923813b750ed"},
    {9, 4, 90, 1, 7, 9, 4, "1d95bf1a587db7289e09c9352b90b4a7f8cac3bc5a3d31280c3abd418ba6ee6b"},
    {9, 4, -90, 0, 0, 4, 9, "86be70218287c3fcd87ed9938742723258ad84ac02c679571b1137e52a0fe67e"},
    {9, 4, -90, 0, 7, 4, 9, "86be70218287c3fcd87ed9938742723258ad84ac02c679571b1137e52a0fe67e"},
    {9, 4, -90, 1, 0, 9, 4, "abc236baae0cb1b3f12abe932077ebdd14219cc1810eac6208492b22ad78627d"},
    {9, 4, -90, 1, 7, 9, 4, "552429c89401ab971edfc95f44f3011ccfbb92f5c4bcea1bc98333821abe4505"},
    {9, 4, 180, 0, 0, 9, 4, "22648499d1cd0d2b095519ba8a1711069499e4394c2ed161446934146774feea"},
    {9, 4, 180, 0, 7, 9, 4, "22648499d1cd0d2b095519ba8a1711069499e4394c2ed161446934146774feea"},
    {9, 4, 180, 1, 0, 9, 4, "22648499d1cd0d2b095519ba8a1711069499e4394c2ed161446934146774feea"},
    {9, 4, 180, 1, 7, 9, 4, "22648499d1cd0d2b095519ba8a1711069499e4394c2ed161446934146774feea"},
    {9, 4, 270, 0, 0, 4, 9, "86be70218287c3fcd87ed9938742723258ad84ac02c679571b1137e52a0fe67e"},
    {9, 4, 270, 0, 7, 4, 9, "86be70218287c3fcd87ed9938742723258ad84ac02c679571b1137e52a0fe67e"},
    {9, 4, 270, 1, 0, 9, 4, "abc236baae0cb1b3f12abe932077ebdd14219cc1810eac6208492b22ad78627d"},
    {9, 4, 270, 1, 7, 9, 4, "552429c89401ab971edfc95f44f3011ccfbb92f5c4bcea1bc98333821abe4505"},
    {9, 4, 450, 0, 0, 4, 9, "2936e3ff4595e1d9630cca16095a11f6f20db99148c6f80078b39332cd798084"},
    {9, 4, 450, 0, 7, 4, 9, "2936e3ff4595e1d9630cca16095a11f6f20db99148c6f80078b39332cd798084"},
    {9, 4, 450, 1, 0, 9, 4, "5b754ddc8b0666753fef243794631a45ff3c60751742e0e59d27923813b750ed"},
    {9, 4, 450, 1, 7, 9, 4, "1d95bf1a587db7289e09c9352b90b4a7f8cac3bc5a3d31280c3abd418ba6ee6b"},
    {9, 4, 30, 0, 0, 10, 8, "b548d26e7725e6145058170b6363fc2e09ee244bae5e2f95d4163bb911d76cb5"},
    {9, 4, 30, 0, 7, 10, 8, "e5d88b9b547b5af850e7d48ec86963bc3e7be1388075bcda0b215e607253b057"},
    {9, 4, 30, 1, 0, 9, 4, "23e3c5180c34913a2730aa2c90b017540033ff987f0661457f5d1b36bf8fde15"},
    {9, 4, 30, 1, 7, 9, 4, "602bb66dc2f724916afd767d23e66fb5d7740014234f2df806ebaf2c0cdd8abd"},
    {9, 4, -45, 0, 0, 10, 10, "7a5bf81f428de39ebc335a6496253964ffadf64c7e8d47a3dcdad606997d3a4e"},
    {9, 4, -45, 0, 7, 10, 10, "a4aa8871b896f86e0203ad0ffea26bf5608faa7b3751c8fd30521871394f49e3"},
    {9, 4, -45, 1, 0, 9, 4, "1294c1bd200cf332e6756cda90e0fc6d2e5bdc40f4d7ef7fde1938aacb5c77f7"},
    {9, 4, -45, 1, 7, 9, 4, "f7227da926ed6e359ffaf927ac3fcf8641f2befb0b5b2d08e74c52d9cb5830c7"},
    {9, 4, 123.4, 0, 0, 9, 10, "ca6901b71fc4ac9271adc6a9d94c37ca7500bacf4cb8078dea4fdfaa68a87ce2"},
    {9, 4, 123.4, 0, 7, 9, 10, "c2d899529fff11d3176457c654bd46d6e8dbac53b000c02a0c556897bc72028d"},
    {9, 4, 123.4, 1, 0, 9, 4, "cb5d95d34d1b93ba0be17980ede9e4641157fdfd95262b116baec6ee77a3dd39"},
    {9, 4, 123.4, 1, 7, 9, 4, "75cc0b35390671522fa3319cf049e07a204187e118295956ef56583102ea2ec6"},
    {9, 4, 33, 0, 0, 10, 9, "610447f5cf6960faf048c15cc0ac732bb9a596138c2ae8b803b6b64045e2a538"},
    {9, 4, 33, 0, 7, 10, 9, "03fa7f855b5c0e0c25c83f1aebfecf166d0867a1bd58ca60daf78f8201979001"},
    {9, 4, 33, 1, 0, 9, 4, "f8ed31a073e876e2be41a0100132dd2ec771de2aa79bd27cdc1bcd6476e9c7f3"},
    {9, 4, 33, 1, 7, 9, 4, "9d165b44d2b34ec8f26b65967006447e2e5d10b07630a51b0966fb5a504a5da0"},
};

static void make_counts(size_t n, uint16_t *out)
{
    for (uint64_t i = 0; i < n; i++) {
        uint64_t v = (i * 6364136223846793005u + 1442695040888963407u) >> 33;
        out[i] = (uint16_t)(v % 37 == 0 ? v % 3000 : v % 5);
    }
}

static void hash(const void *bytes, size_t size, char hex[65])
{
    unsigned char digest[32];
    assert_int_equal(EVP_Digest(bytes, size, digest, NULL, EVP_sha256(), NULL), 1);
    for (int i = 0; i < 32; i++)
        snprintf(hex + 2 * i, 3, "%02x", digest[i]);
}

/* Small enough that a tile is part of a detector row; some of them; the whole detector; no bound to speak of. */
static const uint64_t budgets[] = {4096, 16384, 65536, 64 << 20};

static void check(ronchi_context *context, size_t k, int32_t representation, ronchi_profile_id profile)
{
    ronchi_rotate_options options;
    ronchi_rotate_options_defaults(&options);
    options.output = cases[k].output;
    options.fill = cases[k].fill;
    ronchi_shape shape = {cases[k].rows, cases[k].cols, DR, DC},
                 turned = {cases[k].out_rows, cases[k].out_cols, DR, DC};
    size_t n = shape.scan_rows * shape.scan_cols * DR * DC, n_turned = turned.scan_rows * turned.scan_cols * DR * DC;
    uint16_t *counts = malloc(n * sizeof *counts), *out = malloc(n_turned * sizeof *out);
    assert_non_null(counts);
    assert_non_null(out);
    make_counts(n, counts);
    ronchi_view view = ronchi_view_4d(counts, RONCHI_U16, &shape), result = ronchi_view_4d(out, RONCHI_U16, &turned);
    ronchi_load_options load;
    ronchi_load_options_defaults(&load);
    load.representation = representation;
    load.profile = profile;
    ronchi_acquisition *acquisition, *rotated;
    ronchi_error err = {0};
    char hex[65];
    assert_int_equal(ronchi_acquisition_encode(context, &view, NULL, &load, &acquisition, &err), RONCHI_OK);
    ronchi_status status = ronchi_geometry_rotate_scan(acquisition, cases[k].angle, &options, NULL, &rotated, &err);
    if (status != RONCHI_OK)
        fail_msg("case %zu: %s", k, err.message);
    assert_int_equal(ronchi_acquisition_verify(rotated, &err), RONCHI_OK);
    assert_int_equal(ronchi_acquisition_read(rotated, NULL, RONCHI_READ_RAW, &result, &err), RONCHI_OK);
    hash(out, n_turned * sizeof *out, hex);
    if (strcmp(hex, cases[k].sha256) != 0)
        fail_msg("case %zu: %zu x %zu by %g", k, shape.scan_rows, shape.scan_cols, cases[k].angle);
    memset(out, 0xA5, n_turned * sizeof *out); /* and the dense map */
    options.interpolation = RONCHI_INTERPOLATE_NEAREST;
    assert_int_equal(ronchi_geometry_rotate_view(context, &view, cases[k].angle, &options, &result, NULL, &err),
                     RONCHI_OK);
    hash(out, n_turned * sizeof *out, hex);
    assert_string_equal(hex, cases[k].sha256);
    ronchi_acquisition_destroy(acquisition);
    ronchi_acquisition_destroy(rotated);
    free(counts);
    free(out);
}

static void test_against_numpy(void **state)
{
    (void)state;
    for (size_t b = 0; b < sizeof budgets / sizeof budgets[0]; b++) {
        ronchi_context_options options;
        ronchi_context *context;
        ronchi_context_options_defaults(&options);
        options.budget_bytes = budgets[b];
        options.threads = 1 + (uint32_t)b % 2;
        assert_int_equal(ronchi_context_create(&options, &context, NULL), RONCHI_OK);
        for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++)
            check(context, k, RONCHI_ENCODED, RONCHI_PROFILE_COLUMN);
        for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k += 3)
            check(context, k, RONCHI_DENSE, RONCHI_PROFILE_AUTO);
        /* lane-rans-v1 decodes whole rectangles of the scan: they must fit */
        for (size_t k = 1; budgets[b] >= 65536 && k < sizeof cases / sizeof cases[0]; k += 3)
            check(context, k, RONCHI_ENCODED, RONCHI_PROFILE_LANE);
        assert_true(ronchi_context_decoded_peak(context) > 0);
        assert_true(ronchi_context_decoded_peak(context) <= budgets[b]);
        ronchi_context_destroy(context);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_against_numpy)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
