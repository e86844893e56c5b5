"""What the API takes and answers, as dataclasses."""

from gpuaas._generated.models import *  # noqa: F403
