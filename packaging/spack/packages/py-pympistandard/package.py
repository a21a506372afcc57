# Not tried with Spack: see packaging/README.md.
from spack.package import *


class PyPympistandard(PythonPackage):
    """The MPI standard's table of functions, from which the hooks are generated."""

    pypi = "pympistandard/pympistandard-0.2.0.tar.gz"

    license("MIT")

    version("0.2.0", sha256="cc7d5aa339289ff8e981dce1af69dbdadde2efb070eab66900d130ddca20fad7")

    depends_on("python@3.8:", type=("build", "run"))
    depends_on("py-pdm-backend", type="build")
