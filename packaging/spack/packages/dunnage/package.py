# Not tried with Spack: see packaging/README.md.
from spack.package import *


class Dunnage(CMakePackage):
    """Makes any MPI fast on non-contiguous data and GPU-aware, by preload."""

    license("MIT")

    # There is no archive to fetch: `spack dev-build` builds the folder that it is run in.
    version("0.1.0")

    variant("cuda", default=False, description="Build the kernels for NVIDIA GPUs")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.22:", type="build")
    depends_on("python@3.9:", type=("build", "run"))
    depends_on("py-pympistandard@0.2.0", type="build")
    depends_on("py-tomli", type="build", when="^python@:3.10")
    depends_on("cli11", type="build")
    depends_on("fmt", type="build")
    depends_on("nlohmann-json", type="build")
    depends_on("highway", type="build")
    depends_on("mpi")
    depends_on("cuda@12:", type="build", when="+cuda")

    requires("target=x86_64:", msg="the entry points are for x86-64 only")

    def cmake_args(self):
        return [
            self.define("DUNNAGE_TESTS", False),
            self.define("DUNNAGE_BENCH", False),
            self.define("DUNNAGE_MPICC", self.spec["mpi"].mpicc),
            self.define("DUNNAGE_NVCC", self.spec["cuda"].prefix.bin.nvcc if "+cuda" in self.spec else ""),
        ]
