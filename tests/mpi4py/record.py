"""mpi4py's own test suite on one rank, every outcome written down as it comes.

    record.py SUITE FOLDER [OPTION...] [MODULE...]

SUITE is the `test` folder of mpi4py's source distribution, MODULE a name like test_p2p_buf (all
without any), OPTION one of the suite's. With --cupy the ranks take turns with the GPUs. Writes
FOLDER/rank-N: one line `OUTCOME TEST` for each test, and first `started TEST`, so that after a
crash or a hang it is known where.
"""
import os
import pathlib
import re
import sys
import unittest


class Recorder(unittest.TestResult):
    """Writes outcomes; keeps nothing else."""

    def __init__(self, stream):
        super().__init__()
        self.stream_ = stream
        self.failed_parts_ = False

    def _write(self, outcome, test):
        # Some names hold addresses, which differ from run to run.
        self.stream_.write(f"{outcome} {re.sub(r'0x[0-9a-f]+', '0x', test.id())}\n")
        self.stream_.flush()

    def startTest(self, test):
        super().startTest(test)
        self.failed_parts_ = False
        self._write("started", test)

    def addSuccess(self, test):
        super().addSuccess(test)
        self._write("passed", test)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self._write("skipped", test)

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self._write("failed", test)
        print(f"{test.id()}\n{self.failures[-1][1]}", file=sys.stderr)

    def addError(self, test, err):
        super().addError(test, err)
        self._write("failed", test)
        print(f"{test.id()}\n{self.errors[-1][1]}", file=sys.stderr)

    def addExpectedFailure(self, test, err):
        super().addExpectedFailure(test, err)
        self._write("passed", test)

    def addUnexpectedSuccess(self, test):
        super().addUnexpectedSuccess(test)
        self._write("failed", test)

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            self._write("failed", subtest)
            print(f"{subtest.id()}\n{[*self.failures, *self.errors][-1][1]}", file=sys.stderr)


def prepare_cupy(rank):
    """The ranks take turns with the GPUs. No unsigned types: the suite fills its arrays with -1,
    which CuPy 14 refuses for them."""
    sys.modules["numba"] = None  # as the suite does without its option
    import arrayimpl
    import cupy
    cupy.cuda.Device(rank % cupy.cuda.runtime.getDeviceCount()).use()
    for code in arrayimpl.TypeMapUnsigned:
        arrayimpl.GPUArrayCuPy.TypeMap.pop(code, None)
    if not hasattr(cupy.ndarray, "__dlpack__"):  # ours for the simulated device
        arrayimpl.ArrayBackends.remove(arrayimpl.DLPackCuPy)


def main():
    suite, folder, *words = sys.argv[1:]
    options = [word for word in words if word.startswith("--")]
    modules = [word for word in words if not word.startswith("--")]
    sys.path.insert(0, suite)
    sys.dont_write_bytecode = True
    import main as program  # the suite's own: it sets up mpi4py and finds the tests
    rank = next((os.environ[n] for n in ("OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK") if n in os.environ), "0")
    if "--cupy" in options:
        prepare_cupy(int(rank))
    with open(pathlib.Path(folder) / f"rank-{rank}", "w", encoding="utf-8") as stream:
        class Runner:
            def run(self, tests):
                result = Recorder(stream)
                tests(result)
                stream.write("finished\n")
                return result

        chosen = [word for name in modules for word in ("-i", rf"^{name}\.py$")]
        program.main(module=None, argv=["main.py", "-q", "--no-builddir", *options, *chosen], testRunner=Runner())


main()
