# SPDX-License-Identifier: MIT
"""Sources judged by h5py and NumPy: writes files of every layout, lets source_dump open them and compares.

    sources_oracle.py SOURCE_DUMP [DATA]

DATA is the folder of test data (optional).  Exit code 77 where h5py, NumPy or lz4 are missing: skipped.
"""
import hashlib
import json
import os
import struct
import subprocess
import sys
import tempfile

try:
    import h5py
    import lz4.block
    import numpy as np
except ImportError:
    sys.exit(77)

DUMP = sys.argv[1]
DATA = sys.argv[2] if len(sys.argv) > 2 else os.environ.get('RONCHI_TEST_DATA')
failures = []


def check(what, good, detail=''):
    if not good:
        failures.append(what)
        print('FAILED', what, detail)


def dump(path, *options):
    r = subprocess.run([DUMP, str(path), *map(str, options)], capture_output=True, text=True, timeout=120)
    if r.returncode != 0:
        return 'CRASH %d %s' % (r.returncode, r.stderr[-2000:])
    return r.stdout.strip()


def expect(what, path, counts, *options, flyback=0, flagged=0):
    """The whole scan must come out as 'counts' [row][col][det row][det col]."""
    counts = np.ascontiguousarray(counts)
    line = '%d %d %d %d %s %d %d %s' % (*counts.shape, counts.dtype.newbyteorder('=').name, flyback, flagged,
                                        hashlib.sha256(counts.astype(counts.dtype.newbyteorder('<')).tobytes()).hexdigest())
    got = dump(path, *options)
    check(what, got == line, '\n  got      %s\n  expected %s' % (got, line))


def refuse(what, path, status, words, *options):
    got = dump(path, *options)
    check(what, got.startswith('ERROR %s ' % status) and all(w in got for w in words), '\n  got %s' % got)


# ---------------------------------------------------------------------------------------------- chunks, written by hand

def bitshuffle(block, element):
    n = len(block) // element
    bits = np.unpackbits(np.frombuffer(block, np.uint8).reshape(n, element), axis=1, bitorder='little')
    return np.packbits(bits.T, axis=1, bitorder='little').tobytes()


def bitunshuffle(block, element):
    n = len(block) // element
    bits = np.unpackbits(np.frombuffer(block, np.uint8).reshape(8 * element, n // 8), axis=1, bitorder='little')
    return np.packbits(bits.T, axis=1, bitorder='little').tobytes()


def bslz4_encode(raw, element, block_bytes=0):
    size = block_bytes or 8192 // element // 8 * 8 * element
    out = [struct.pack('>QI', len(raw), block_bytes)]
    whole = len(raw) // (8 * element) * 8 * element
    for at in range(0, whole, size):
        coded = lz4.block.compress(bitshuffle(raw[at:min(at + size, whole)], element), store_size=False)
        out.append(struct.pack('>I', len(coded)) + coded)
    return b''.join(out) + raw[whole:]


def bslz4_decode(chunk, element):
    total, size = struct.unpack('>QI', chunk[:12])
    size = size or 8192 // element // 8 * 8 * element
    whole, at, out = total // (8 * element) * 8 * element, 12, []
    for start in range(0, whole, size):
        n = min(size, whole - start)
        length = struct.unpack('>I', chunk[at:at + 4])[0]
        out.append(bitunshuffle(lz4.block.decompress(chunk[at + 4:at + 4 + length], uncompressed_size=n), element))
        at += 4 + length
    return b''.join(out) + chunk[at:]


def lz4_encode(raw, block):
    out = [struct.pack('>QI', len(raw), block)]
    for at in range(0, len(raw), block):
        plain = raw[at:at + block]
        coded = lz4.block.compress(plain, store_size=False)
        if len(coded) >= len(plain):
            coded = plain
        out.append(struct.pack('>I', len(coded)) + coded)
    return b''.join(out)


def lz4_decode(chunk):
    total, block = struct.unpack('>QI', chunk[:12])
    at, out, got = 12, [], 0
    while got < total:
        n = min(block, total - got)
        length = struct.unpack('>I', chunk[at:at + 4])[0]
        coded = chunk[at + 4:at + 4 + length]
        out.append(coded if length == n else lz4.block.decompress(coded, uncompressed_size=n))
        at += 4 + length
        got += n
    return b''.join(out)


def filtered(group, name, counts, chunks, code=32008, maxshape=None, skip=(), encode=None, raw_at=(), options=None):
    """A dataset whose chunks are coded here; 'skip': chunks never written; 'raw_at': chunks stored with the filter skipped."""
    most = tuple(h5py.h5s.UNLIMITED if m is None else m for m in maxshape or counts.shape)
    space = h5py.h5s.create_simple(counts.shape, most)
    plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    plist.set_chunk(chunks)
    values = options if options is not None else ((0, 3, counts.dtype.itemsize, 0, 2) if code == 32008 else ())
    plist.set_filter(code, h5py.h5z.FLAG_OPTIONAL, values)
    ds = h5py.Dataset(h5py.h5d.create(group.id, name.encode(), h5py.h5t.py_create(counts.dtype), space, plist))
    element = counts.dtype.itemsize
    encode = encode or ((lambda raw: bslz4_encode(raw, element)) if code == 32008 else (lambda raw: lz4_encode(raw, 1 << 30)))
    for n, index in enumerate(np.ndindex(*[-(-s // c) for s, c in zip(counts.shape, chunks)])):
        if n in skip:
            continue
        at = tuple(i * c for i, c in zip(index, chunks))
        part = counts[tuple(slice(a, a + c) for a, c in zip(at, chunks))]
        whole = np.zeros(chunks, counts.dtype)
        whole[tuple(slice(0, k) for k in part.shape)] = part
        raw = whole.tobytes()
        if n in raw_at:
            ds.id.write_direct_chunk(at, raw, 1)
        else:
            ds.id.write_direct_chunk(at, encode(raw), 0)
    return ds


rng = np.random.default_rng(5)


def poisson(shape, dtype, mean=2.0):
    return rng.poisson(mean, shape).astype(dtype)


def frames(counts):
    return counts.reshape(-1, *counts.shape[2:])


def master(folder, name='x_master.h5', ntrigger=None, nimages=1, description=None):
    f = h5py.File(os.path.join(folder, name), 'w')
    f.create_group('entry/data')
    special = f.create_group('entry/instrument/detector/detectorSpecific')
    if ntrigger is not None:
        special['ntrigger'] = np.uint64(ntrigger)
        special['nimages'] = np.uint64(nimages)
    if description:
        f['entry/instrument/detector/description'] = np.bytes_(description)
    return f


def data_file(folder, name, counts, **how):
    with h5py.File(os.path.join(folder, name), 'w') as f:
        filtered(f.create_group('entry/data'), 'data', counts, (1, *counts.shape[1:]), **how)


# ------------------------------------------------------------------------------------------------------------ the cases

def legacy(d):
    for dtype in (np.uint8, np.uint16, np.uint32):
        for rows, cols in ((16, 24), (7, 11), (1, 1), (5, 3), (96, 70)):
            counts = poisson((6, 6, rows, cols), dtype)
            name = '%s_%dx%d' % (np.dtype(dtype).name, rows, cols)
            with master(d, name + '_master.h5', 36) as f:
                for k in range(3):
                    data_file(d, '%s_part%d.h5' % (name, k), frames(counts)[12 * k:12 * k + 12])
                    f['entry/data/data_%06d' % (k + 1)] = h5py.ExternalLink('%s_part%d.h5' % (name, k), '/entry/data/data')
            expect('legacy ' + name, os.path.join(d, name + '_master.h5'), counts)
            expect('legacy ' + name + ', small windows', os.path.join(d, name + '_master.h5'), counts, '--window', 7)


def chunk_forms(d):
    counts = poisson((5, 5, 24, 20), np.uint16)
    stack = frames(counts)
    element = 2
    cases = {
        'block 16': dict(encode=lambda raw: bslz4_encode(raw, element, 16)),
        'block 48': dict(encode=lambda raw: bslz4_encode(raw, element, 48)),
        'block 65536': dict(encode=lambda raw: bslz4_encode(raw, element, 65536)),
        'plain lz4': dict(code=32004),
        'plain lz4, blocks of 100': dict(code=32004, encode=lambda raw: lz4_encode(raw, 100)),
        'some chunks with the filter skipped': dict(raw_at=(0, 7, 24)),
        'unlimited': dict(maxshape=(None, 24, 20)),
        'all unlimited': dict(maxshape=(None, None, None)),
    }
    for what, how in cases.items():
        path = os.path.join(d, 'chunk_%s_master.h5' % what.replace(' ', '_').replace(',', ''))
        with master(d, os.path.basename(path), 25) as f:
            filtered(f['entry/data'], 'data_000001', stack, (1, 24, 20), **how)
        expect(what, path, counts)
    noise = rng.integers(0, 65536, (2, 2, 24, 20)).astype(np.uint16)
    path = os.path.join(d, 'noise_master.h5')
    with master(d, 'noise_master.h5', 4) as f:
        filtered(f['entry/data'], 'data_000001', frames(noise), (1, 24, 20), code=32004, encode=lambda raw: lz4_encode(raw, 64))
    expect('lz4 blocks stored as they are', path, noise)


def layouts(d):
    counts = poisson((4, 6, 12, 10), np.uint16)
    stack = frames(counts)
    for what, how in {
        'contiguous': {},
        'gzip': dict(chunks=(1, 12, 10), compression='gzip', shuffle=True),
        'gzip, layers of 5': dict(chunks=(5, 12, 10), compression='gzip'),
        'gzip, odd chunks': dict(chunks=(3, 7, 4), compression='gzip', fletcher32=True),
        'chunked, no filter': dict(chunks=(1, 12, 10)),
        'big-endian contiguous': dict(dtype='>u2'),
    }.items():
        path = os.path.join(d, 'layout_%s.h5' % what.replace(' ', '_').replace(',', ''))
        with h5py.File(path, 'w') as f:
            f.create_dataset('entry/data/data', data=stack, **how)
        expect(what, path, counts, '--scan-shape', '4,6')
    for what, chunks in {'layers of 5': (5, 12, 10), 'odd chunks': (3, 7, 4), 'half frames': (1, 6, 10)}.items():
        for code in (32008, 32004):
            path = os.path.join(d, 'own_%s_%d.h5' % (what.replace(' ', '_'), code))
            with h5py.File(path, 'w') as f:
                filtered(f.create_group('entry/data'), 'data', stack, chunks, code=code)
            expect('%s, filter %d' % (what, code), path, counts, '--scan-shape', '4,6', '--window', 3)
    path = os.path.join(d, 'big.h5')
    big = stack.astype('>u2')
    with h5py.File(path, 'w') as f:
        filtered(f.create_group('entry/data'), 'data', big, (1, 12, 10))
    expect('big-endian bslz4', path, counts, '--scan-shape', '4,6')
    path = os.path.join(d, 'four.h5')
    with h5py.File(path, 'w') as f:
        filtered(f.create_group('a/b'), 'counts', counts, (1, 1, 12, 10))
        f['a/other'] = np.zeros((3, 4))
    expect('one 4-D dataset somewhere', path, counts)
    path = os.path.join(d, 'four_chunks.h5')
    with h5py.File(path, 'w') as f:
        filtered(f.create_group('a/b'), 'counts', counts, (2, 4, 12, 10))
    expect('4-D dataset in blocks of positions', path, counts)
    path = os.path.join(d, 'float.h5')
    values = rng.normal(size=(3, 2, 5, 4)).astype(np.float32)
    values[0, 0, 0, 0] = np.nan
    with h5py.File(path, 'w') as f:
        f['x'] = values
    expect('float32', path, values)
    path = os.path.join(d, 'userblock.h5')
    with h5py.File(path, 'w', userblock_size=1024) as f:
        f['x'] = counts
    expect('behind a user block', path, counts)
    path = os.path.join(d, 'two.h5')
    with h5py.File(path, 'w') as f:
        f['x'] = counts
        f['y'] = counts + 1
    refuse('two candidates', path, 'NEEDED', ['--dataset', '/x', '/y'])
    expect('a dataset by name', path, counts + 1, '--dataset', '/y')
    refuse('a dataset that is not there', path, 'NOT_FOUND', ['/z'], '--dataset', '/z')


def links(d):
    counts = poisson((3, 3, 8, 8), np.uint16)
    stack = frames(counts)
    sub = os.path.join(d, 'elsewhere')
    os.makedirs(sub)
    data_file(sub, 'far.h5', stack[:4])
    data_file(d, 'near.h5', stack[4:])
    with master(d, 'abs_master.h5', 9) as f:
        f['entry/data/data_000001'] = h5py.ExternalLink(os.path.join(sub, 'far.h5'), '/entry/data/data')
        f['entry/data/data_000002'] = h5py.ExternalLink('near.h5', '/entry/data/data')
    expect('absolute and relative links', os.path.join(d, 'abs_master.h5'), counts)
    with master(d, 'moved_master.h5', 9) as f:
        f['entry/data/data_000001'] = h5py.ExternalLink('elsewhere/far.h5', '/entry/data/data')
        f['entry/data/data_000002'] = h5py.ExternalLink('/no/such/place/near.h5', '/entry/data/data')
    expect('an absolute link that moved beside the master', os.path.join(d, 'moved_master.h5'), counts)
    with master(d, 'soft_master.h5', 9) as f:
        filtered(f.create_group('store'), 'all', stack, (1, 8, 8))
        f['entry/data/data_000001'] = h5py.SoftLink('/store/all')
    expect('a soft link', os.path.join(d, 'soft_master.h5'), counts)
    with master(d, 'path_master.h5', 9) as f:
        with h5py.File(os.path.join(d, 'odd.h5'), 'w') as g:
            filtered(g.create_group('some/where'), 'else', stack, (1, 8, 8))
        f['entry/data/data_000001'] = h5py.ExternalLink('odd.h5', '/some/where/else')
    expect('another path inside the target', os.path.join(d, 'path_master.h5'), counts)
    with master(d, 'missing_master.h5', 12) as f:
        f['entry/data/data_000001'] = h5py.ExternalLink('near.h5', '/entry/data/data')
        f['entry/data/data_000002'] = h5py.ExternalLink('never_written.h5', '/entry/data/data')
        f['entry/data/data_000003'] = h5py.ExternalLink('nor_this.h5', '/entry/data/data')
    refuse('aborted run', os.path.join(d, 'missing_master.h5'), 'INCOMPLETE', ['never_written.h5', 'missing', '1 more'])
    with master(d, 'wrong_master.h5', 9) as f:
        f['entry/data/data_000001'] = h5py.ExternalLink('near.h5', '/entry/data/other')
    refuse('a link to no dataset', os.path.join(d, 'wrong_master.h5'), 'INCOMPLETE', ['near.h5', '/entry/data/other'])
    whole = open(os.path.join(d, 'near.h5'), 'rb').read()
    open(os.path.join(d, 'cut.h5'), 'wb').write(whole[:len(whole) * 2 // 3])
    with master(d, 'cut_master.h5', 9) as f:
        f['entry/data/data_000001'] = h5py.ExternalLink('cut.h5', '/entry/data/data')
    refuse('truncated data file', os.path.join(d, 'cut_master.h5'), 'INCOMPLETE', ['cut.h5', 'HDF5'])
    open(os.path.join(d, 'empty.h5'), 'wb').close()
    with master(d, 'empty_master.h5', 9) as f:
        f['entry/data/data_000001'] = h5py.ExternalLink('empty.h5', '/entry/data/data')
    refuse('empty data file', os.path.join(d, 'empty_master.h5'), 'INCOMPLETE', ['empty.h5'])
    data_file(d, 'other.h5', stack[:2].astype(np.uint32))
    with master(d, 'mixed_master.h5', 7) as f:
        f['entry/data/data_000001'] = h5py.ExternalLink('near.h5', '/entry/data/data')
        f['entry/data/data_000002'] = h5py.ExternalLink('other.h5', '/entry/data/data')
    refuse('two dtypes', os.path.join(d, 'mixed_master.h5'), 'DATA', ['other.h5', 'uint32', 'uint16'])
    data_file(d, 'holes.h5', stack, skip=(3,))
    with master(d, 'holes_master.h5', 9) as f:
        f['entry/data/data_000001'] = h5py.ExternalLink('holes.h5', '/entry/data/data')
    refuse('a chunk that was never written', os.path.join(d, 'holes_master.h5'), 'INCOMPLETE', ['1 of 9', 'holes.h5'])
    master_bytes = open(os.path.join(d, 'holes_master.h5'), 'rb').read()
    open(os.path.join(d, 'cutmaster_master.h5'), 'wb').write(master_bytes[:1500])
    refuse('truncated master', os.path.join(d, 'cutmaster_master.h5'), 'DATA', ['HDF5'])


def channels(d):
    counts = [poisson((3, 4, 9, 8), np.uint16, m) for m in (3, 1, 2)]
    stack = np.stack([frames(c) for c in counts], 1)
    names = np.array(['threshold_1', 'threshold_2', 'difference'], 'S')

    def describe(f):
        f['entry/data/channel'] = names
        for k, n in enumerate(names):
            mask = np.zeros((9, 8), np.uint32)
            mask[0, :k + 1] = 1
            f['entry/instrument/detector/%s_channel/pixel_mask' % n.decode()] = mask

    with master(d, 'inline_master.h5') as f:
        describe(f)
        filtered(f['entry/data'], 'data', stack, (1, 1, 9, 8))
    path = os.path.join(d, 'inline_master.h5')
    refuse('channels: none chosen', path, 'NEEDED', ['--channel', 'threshold_1', 'difference'], '--scan-shape', '3,4')
    refuse('channels: an unknown one', path, 'NEEDED', ['threshold_9'], '--channel', 'threshold_9')
    for k, n in enumerate(names):
        expect('channels inline ' + n.decode(), path, counts[k], '--channel', n.decode(), '--scan-shape', '3,4', flagged=k + 1)
    vds = h5py.VirtualLayout(stack.shape, np.uint16)
    for k in range(3):
        with h5py.File(os.path.join(d, 'v_data_%06d.h5' % k), 'w') as f:
            filtered(f.create_group('entry/data'), 'data', stack[4 * k:4 * k + 4], (1, 1, 9, 8))
        vds[4 * k:4 * k + 4] = h5py.VirtualSource('v_data_%06d.h5' % k, '/entry/data/data', (4, 3, 9, 8))
    with master(d, 'v_master.h5') as f:
        describe(f)
        f.create_virtual_dataset('entry/data/data', vds)
    path = os.path.join(d, 'v_master.h5')
    for k, n in enumerate(names):
        expect('channels virtual ' + n.decode(), path, counts[k], '--channel', n.decode(), '--scan-shape', '3,4', flagged=k + 1)
    os.rename(os.path.join(d, 'v_data_000001.h5'), os.path.join(d, 'gone.h5'))
    refuse('a virtual source is missing', path, 'INCOMPLETE', ['v_data_000001.h5', 'missing'], '--channel', 'difference',
           '--scan-shape', '3,4')
    os.rename(os.path.join(d, 'gone.h5'), os.path.join(d, 'v_data_000001.h5'))
    gap = h5py.VirtualLayout((13, 9, 8), np.uint16)
    one = stack[:, :1].reshape(12, 9, 8)
    with h5py.File(os.path.join(d, 'g_data.h5'), 'w') as f:
        filtered(f.create_group('entry/data'), 'data', one, (1, 9, 8))
    gap[:5] = h5py.VirtualSource('g_data.h5', '/entry/data/data', (12, 9, 8))[:5]
    gap[6:] = h5py.VirtualSource('g_data.h5', '/entry/data/data', (12, 9, 8))[5:]
    with master(d, 'g_master.h5') as f:
        f.create_virtual_dataset('entry/data/data', gap)
    refuse('frames without a source', os.path.join(d, 'g_master.h5'), 'INCOMPLETE', ['frames 5 to 5'])
    three = h5py.VirtualLayout((12, 9, 8), np.uint16)
    three[:7] = h5py.VirtualSource('g_data.h5', '/entry/data/data', (12, 9, 8))[5:]
    three[7:] = h5py.VirtualSource('g_data.h5', '/entry/data/data', (12, 9, 8))[:5]
    with master(d, 't_master.h5') as f:
        f.create_virtual_dataset('entry/data/data', three)
    expect('a virtual stack in another order', os.path.join(d, 't_master.h5'),
           np.concatenate([one[5:], one[:5]]).reshape(3, 4, 9, 8), '--scan-shape', '3,4')
    cut = h5py.VirtualLayout((12, 9, 8), np.uint16)
    cut[:, :4] = h5py.VirtualSource('g_data.h5', '/entry/data/data', (12, 9, 8))[:, :4]
    with master(d, 'c_master.h5') as f:
        f.create_virtual_dataset('entry/data/data', cut)
    refuse('a virtual dataset that cuts frames', os.path.join(d, 'c_master.h5'), 'UNSUPPORTED', ['whole frames'])
    single = stack[:, :1]
    with master(d, 'single_master.h5') as f:
        f['entry/data/channel'] = names[:1]
        filtered(f['entry/data'], 'data', single, (1, 1, 9, 8))
    expect('the only channel', os.path.join(d, 'single_master.h5'), counts[0], '--scan-shape', '3,4')


def shapes(d):
    counts = poisson((4, 6, 5, 7), np.uint16)
    stack = frames(counts)
    extra = poisson((4, 8, 5, 7), np.uint16)

    def write(name, stack, companion=None, software=None, attribute=None, **how):
        with master(d, name + '_master.h5', **how) as f:
            filtered(f['entry/data'], 'data_000001', stack, (1, 5, 7))
            if attribute:
                f['entry/data'].attrs['scan_shape'] = attribute
        if companion:
            with h5py.File(os.path.join(d, name + '.h5'), 'w') as f:
                f.create_group('STEM Metadata').attrs.update(companion)
        if software:
            with open(os.path.join(d, name + '.json'), 'w') as f:
                json.dump(software, f)
        return os.path.join(d, name + '_master.h5')

    said = dict(NumPixelsX=6, NumPixelsY=4, NumPixelsPrescan=0)
    soft = {'metadata': {'scan': {'scan_size': [4, 6]}}}
    expect('attribute', write('attr', stack, attribute=(4, 6)), counts)
    expect('companion', write('comp', stack, companion=said), counts)
    expect('json', write('soft', stack, software=soft), counts)
    expect('companion with prescan', write('pre', frames(extra), companion=dict(said, NumPixelsPrescan=2)), extra[:, 2:], flyback=2)
    expect('extra frames at the end', write('end', frames(extra)), extra[:, :6], '--scan-shape', '4,6', '--flyback', 2,
           '--flyback-at', 'end', flyback=2)
    expect('json with extra frames', write('softx', frames(extra), software=soft), extra[:, 2:], flyback=2)
    refuse('companion and json contradict', write('contra', stack, companion=said, software={'metadata': {'scan': {
        'scan_size': [6, 4]}}}), 'DATA', ['--scan-shape', '4 x 6', '6 x 4'])
    expect('the user settles it', os.path.join(d, 'contra_master.h5'), counts, '--scan-shape', '4,6')
    refuse('only a count', write('count', stack), 'NEEDED', ['--scan-shape'])
    refuse('extra frames that nothing speaks for', write('nothing', frames(extra)), 'NEEDED', ['--flyback 2'], '--scan-shape', '4,6')
    refuse('too few frames', write('few', stack[:20], companion=said), 'INCOMPLETE', ['20'])
    refuse('fewer than triggers', write('trig', stack[:16], ntrigger=25), 'INCOMPLETE', ['16', '25'])
    expect('a square', write('square', stack[:16], ntrigger=16), stack[:16].reshape(4, 4, 5, 7))
    expect('endless triggers', write('endless', stack[:16], ntrigger=16777215, nimages=16), stack[:16].reshape(4, 4, 5, 7))
    expect('skipped frames', write('skip', stack), stack[8:].reshape(4, 4, 5, 7), '--skip', 8)
    expect('a part with --flyback 0', os.path.join(d, 'skip_master.h5'), stack[:15].reshape(3, 5, 5, 7), '--scan-shape', '3,5',
           '--flyback', 0)


def damage(d):
    """Damaged chunks are refused, whatever is damaged; never a crash, never other counts without an error."""
    counts = poisson((2, 2, 40, 30), np.uint16)
    for code in (32008, 32004):
        path = os.path.join(d, 'damage_%d.h5' % code)
        with h5py.File(path, 'w') as f:
            filtered(f.create_group('entry/data'), 'data', frames(counts), (1, 40, 30), code=code)
        with h5py.File(path, 'r') as f:
            chunk = f['entry/data/data'].id.read_direct_chunk((1, 0, 0))[1]
        for what, broken in {
            'size': struct.pack('>Q', 4800) + chunk[8:],
            'huge size': b'\xff' * 8 + chunk[8:],
            'cut header': chunk[:9],
            'cut': chunk[:-5],
            'longer': chunk + b'\0',
            'block length': chunk[:12] + b'\x7f\xff\xff\xff' + chunk[16:],
            'block size': chunk[:8] + struct.pack('>I', 9) + chunk[12:],
        }.items():
            broken_path = os.path.join(d, 'broken.h5')
            with h5py.File(broken_path, 'w') as f:
                ds = filtered(f.create_group('entry/data'), 'data', frames(counts), (1, 40, 30), code=code)
                ds.id.write_direct_chunk((1, 0, 0), broken, 0)
            refuse('damaged %s, filter %d' % (what, code), broken_path, 'DATA', ['frame 1', 'broken.h5'])
    path = os.path.join(d, 'zstd.h5')
    with h5py.File(path, 'w') as f:
        filtered(f.create_group('entry/data'), 'data', frames(counts), (1, 40, 30), options=(0, 4, 2, 0, 3))
    refuse('bitshuffle with Zstandard', path, 'UNSUPPORTED', ['LZ4'])
    path = os.path.join(d, 'signed.h5')
    with h5py.File(path, 'w') as f:
        f['entry/data/data'] = frames(counts).astype(np.int64)
    refuse('int64', path, 'UNSUPPORTED', ['int64'])
    path = os.path.join(d, 'nothing.h5')
    with h5py.File(path, 'w') as f:
        f['entry/data/note'] = 'no counts'
    refuse('nothing in it', path, 'FORMAT', ['acquisition'])

    # links of a group with many of them stand in a heap with checksums; libhdf5 1.10 crashes sorting what it cannot read
    path = os.path.join(d, 'heap_master.h5')
    with h5py.File(path, 'w', libver='latest') as f:
        f.create_group('entry/data')
        special = f.create_group('entry/instrument/detector/detectorSpecific')
        for i in range(40):
            special['value_%d' % i] = np.uint64(i)
        f['entry/data/data_000001'] = frames(poisson((4, 3, 8, 8), np.uint16))
    expect_heap = dump(path, '--scan-shape', '4,3')
    check('many links', expect_heap.startswith('4 3 8 8 uint16'), expect_heap)
    with open(path, 'r+b') as f:
        heap = f.read().index(b'FHDB') + 40
        f.seek(heap)
        f.write(b'\xff')
    refuse('a damaged heap of links', path, 'DATA', ['a group in it cannot be read'], '--scan-shape', '4,3')


def numpy_files(d):
    counts = poisson((3, 5, 6, 4), np.uint16)
    for dtype in ('u1', '<u2', '>u2', '<u4', '>u4', '<f4', '>f4'):
        path = os.path.join(d, 'x%s.npy' % dtype.strip('<>') + dtype[0].replace('<', 'l').replace('>', 'b'))
        np.save(path, counts.astype(dtype))
        expect('npy ' + dtype, path if path.endswith('.npy') else path + '.npy', counts.astype(dtype))
    path = os.path.join(d, 'three.npy')
    np.save(path, frames(counts))
    expect('npy of three axes', path, counts, '--scan-shape', '3,5')
    refuse('npy of three axes without a shape', path, 'NEEDED', ['--scan-shape'])
    np.save(path, np.asfortranarray(counts))
    refuse('npy in Fortran order', path, 'UNSUPPORTED', ['Fortran'])
    for dtype in ('i2', 'i4', 'f8', 'u8', 'c8', 'O'):
        np.save(path, counts.astype(dtype), allow_pickle=True)
        refuse('npy ' + dtype, path, 'UNSUPPORTED', [])
    np.save(path, np.zeros((2, 2, 2, 2), [('a', 'u1'), ('b', 'u2')]))
    refuse('npy with fields', path, 'UNSUPPORTED', ['fields'])
    np.save(path, counts)
    whole = open(path, 'rb').read()
    for n in (3, 11, 70, len(whole) - 1):
        open(path, 'wb').write(whole[:n])
        got = dump(path)
        check('npy cut to %d bytes' % n, got.startswith('ERROR ') and 'CRASH' not in got, got)
    open(path, 'wb').write(whole + b'12')
    refuse('npy with bytes left over', path, 'DATA', ['2 bytes'])


# ------------------------------------------------------------------------------------------------------------ real files

def read_reference(ds):
    """Any dataset, decoding the detectors' filters here."""
    plist = ds.id.get_create_plist()
    ids = [plist.get_filter(i)[0] for i in range(plist.get_nfilters())]
    if ids not in ([32008], [32004]):
        return ds[...]
    out = np.zeros(ds.shape, ds.dtype)
    for i in range(ds.id.get_num_chunks()):
        at = ds.id.get_chunk_info(i).chunk_offset
        chunk = ds.id.read_direct_chunk(at)[1]
        raw = bslz4_decode(chunk, ds.dtype.itemsize) if ids == [32008] else lz4_decode(chunk)
        part = tuple(slice(a, min(a + c, s)) for a, c, s in zip(at, ds.chunks, ds.shape))
        out[part] = np.frombuffer(raw, ds.dtype).reshape(ds.chunks)[tuple(slice(0, p.stop - p.start) for p in part)]
    return out


def real(data):
    folder = os.path.join(data, 'real')
    versions = os.path.join(folder, 'dectris/datasets_different_h5ver')
    for v in ('earliest', 'v108', 'v110', 'v112'):
        path = os.path.join(versions, 'dataset_%s.h5' % v)
        for group, names in {'data': ['chunked', 'chunked_bslz4', 'chunked_external', 'chunked_soft', 'chunked_hard', 'not_chunked',
                                      'not_chunked_external', 'not_chunked_soft', 'not_chunked_hard', 'chunked_fixed_array',
                                      'chunked_fixed_array_bslz4', 'chunked_fixed_array_paged', 'chunked_fixed_array_paged_bslz4',
                                      'chunked_unlimited_maxshape', 'chunked_unlimited_maxshape_bslz4'],
                             'sub': ['chunked_external', 'chunked_soft', 'chunked_hard'], 'data/sub_soft': ['chunked_soft']}.items():
            for name in names:
                n, side = (5000, 2) if 'paged' in name else (20, 2) if 'fixed' in name else (3, 10)
                counts = np.zeros((1, n, side, side), np.uint32)
                counts[0] += np.arange(n, dtype=np.uint32)[:, None, None]
                expect('%s /%s/%s' % (v, group, name), path, counts, '--dataset', '/%s/%s' % (group, name), '--scan-shape', '1,%d' % n,
                       '--window', 500)
    for form in ('bslz4', 'lz4'):
        for k in (1, 2):
            path = os.path.join(folder, 'dectris/datasets_eiger1/eiger1_testmode10_2datafiles_4images_%s_data_%06d.h5' % (form, k))
            with h5py.File(path, 'r') as f:
                expect('EIGER1 %s %d' % (form, k), path, read_reference(f['entry/data/data'])[None], '--scan-shape', '1,2')
    path = os.path.join(folder, 'eiger4m/bitshuffle.h5')
    with h5py.File(path, 'r') as f:
        counts = read_reference(f['entry/data/data'])
    check('EIGER 4M reference', (counts == 2**32 - 1).sum() == 251302 and ((counts > 65535) & (counts < 2**32 - 1)).sum() == 10)
    expect('EIGER 4M', path, counts[None])
    path = os.path.join(folder, 'dectris/dataset_artificial_small_001/test_master.h5')
    with h5py.File(os.path.join(os.path.dirname(path), 'test_data_000001.h5'), 'r') as f, h5py.File(path, 'r') as g:
        mask = g['entry/instrument/detector/detectorSpecific/pixel_mask'][...]
        expect('artificial', path, read_reference(f['entry/data/data'])[None], '--scan-shape', '1,5', flagged=int((mask != 0).sum()))
    refuse('artificial without a shape', path, 'NEEDED', ['--scan-shape'])
    path = os.path.join(folder, 'arina_rsciio_4x4/test_00_master.h5')
    expect('ARINA 4 x 4', path, np.zeros((4, 4, 192, 192), np.uint32))
    refuse('ARINA without its data', os.path.join(folder, 'arina_ncempy_missing_data/au_145mm_68kx_microprobe_01_master.h5'),
           'INCOMPLETE', ['au_145mm_68kx_microprobe_01_data_000001.h5', 'missing'])
    for name in ('fixture_data_000001.h5', 'fixture_u8_data_000001.h5'):
        path = os.path.join(folder, 'quantem_gpu_fixtures', name)
        with h5py.File(path, 'r') as f:
            expect(name, path, read_reference(f['entry/data/data'])[None])
    for name in ('real_py4dstem.h5', 'real_py4dstem_origin_maps.h5'):
        path = os.path.join(folder, 'emd', name)
        with h5py.File(path, 'r') as f:
            expect(name, path, f['datacube_root/datacube/data'][...])
    refuse('EBSD', os.path.join(folder, 'ebsd/nordif_Pattern.dat'), 'FORMAT', ['.npy'])
    refuse('no frames', os.path.join(folder, 'bitshuffle/regression_0.4.0.h5'), 'FORMAT', ['acquisition'])
    refuse('companion alone', os.path.join(folder, 'arina_rsciio_4x4/test_00.h5'), 'FORMAT', ['test_00_master.h5'])
    refuse('json alone', os.path.join(folder, 'arina_ptycho_susi/res109mrad_100us_256rpx_192qpx.json'), 'FORMAT', ['master'])


for case in (legacy, chunk_forms, layouts, links, channels, shapes, damage, numpy_files):
    with tempfile.TemporaryDirectory() as folder:
        case(folder)
if DATA:
    real(DATA)
print('%d failed' % len(failures) if failures else 'all as expected')
sys.exit(1 if failures else 0)
