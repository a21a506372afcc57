"""dunnage explain: what becomes of a datatype."""


def test_device_memory(dunnage):
    out = dunnage("explain", "--memory", "device", "subarray([64,64,64],[64,64,1],[0,0,3],C,double)").stdout
    assert "dense_pack_w8" in out and "words of 8 bytes" in out and "blocks of 256 threads" in out
    assert "predicted pack" in out and "limit" in out


def test_a_transpose_goes_through_tiles(dunnage):
    out = dunnage("explain", "--memory", "device", "resized(0,8,vector(512,1,512,double))", "--count", "512").stdout
    assert "tile_pack_w8" in out and "tile_unpack_w8" in out


def test_equal_descriptions_have_equal_kernels(dunnage):
    texts = ["hvector(30,1,4096,vector(20,100,1024,byte))", "subarray([30,4,1024],[30,4,100],[0,0,0],C,byte)"]
    lines = [[line for line in dunnage("explain", "--memory", "device", text).stdout.splitlines() if "kernel" in line] for text in texts]
    assert lines[0][0].split(":")[0] == "pack kernel      dense_pack_w4_v2_d3_t0_i32" and len(lines[1]) == 2


def test_contiguous_data_is_copied(dunnage):
    assert "the driver's copy" in dunnage("explain", "--memory", "device", "contiguous(100,double)").stdout


def test_unknown_memory(dunnage):
    run = dunnage("explain", "--memory", "disk", "double")
    assert run.returncode != 0 and "disk" in run.stderr
