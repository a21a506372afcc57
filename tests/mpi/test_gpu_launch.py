"""Kernels that are launched as graphs of one node (DUNNAGE_LAUNCH=graphs): the simulated device."""

import pytest

from simulated import exact_or_an_error, needs_simulator, simulated

pytestmark = needs_simulator

PROGRAMS = [("gpu_pack", 1), ("gpu_direct", 2), ("gpu_channels", 2), ("gpu_lines", 3), ("gpu_roots", 3),
            ("gpu_reductions memory", 3), ("gpu_windows", 2)]
FAULTS = ["cuGraphCreate:2", "cuGraphInstantiate:9", "cuGraphExecKernelNodeSetParams:20", "cuGraphLaunch:25",
          "kernel:30"]


@pytest.mark.parametrize("program, ranks", PROGRAMS)
def test_contracts(passes, program, ranks):
    flavour = ["openmpi", "mpich"][PROGRAMS.index((program, ranks)) % 2]
    name, *arguments = program.split()
    settings = {"DUNNAGE_LAUNCH": "graphs", "DUNNAGE_COLLECTIVES": "on", "DUNNAGE_NEIGHBOURS": "on"}
    passes(flavour, f"contract_{name}", *arguments, ranks=ranks, limit=200, **settings)


@pytest.mark.parametrize("fault", FAULTS)
def test_faults(launch, fault):
    flavour = ["openmpi", "mpich"][FAULTS.index(fault) % 2]
    settings = {"DUNNAGE_LAUNCH": "graphs", "DUNNAGE_SIM_FAIL": f"{fault}:999", "CONTRACT_ERRORS_ARE_FATAL": "1"}
    settings["CONTRACT_FEW_LAYOUTS"] = "1"
    run = launch(flavour, "contract_gpu_direct", ranks=2, mode="always", limit=120, **simulated(flavour, **settings))
    assert exact_or_an_error(run), run
