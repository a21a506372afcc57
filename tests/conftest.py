"""What holds for all tests that drive programs."""
import pytest


@pytest.fixture(scope="session", autouse=True)
def no_model_file(tmp_path_factory):
    """What somebody has measured on this machine must not decide what a test finds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield
