"""Training steps of PyTorch under a budget in bytes.

>>> import torch, llmmem.torch
>>> model = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.GELU(), torch.nn.Linear(256, 64))
>>> backend = llmmem.torch.backend(budget="1MB")
>>> loss = torch.compile(model, backend=backend)(torch.ones(8, 64)).sum()
>>> loss.backward()
>>> backend.reports[0].peak <= 1_000_000
True

`backend` runs kernels one by one in the planned order; `compile` plans whole steps, of several graphs and calls; `partitioner` hands the plan
to Inductor or to an own backend.
PyTorch is imported here and nowhere else in llmmem.
"""

from .._errors import BudgetError

from ._backend import Backend, Partitioner, backend, compile, partitioner, run_in_order
from ._costs import DEVICES, Device
from ._errors import UnsupportedGraphError
from ._measure import peak_bytes
from ._named import by_name
from ._pool import pool_usage, use_pool
from ._predict import predict
from ._prediction import Prediction
from ._report import Report
from ._step_report import StepReport

__all__ = ["Backend", "BudgetError", "DEVICES", "Device", "Partitioner", "Prediction", "Report", "StepReport", "UnsupportedGraphError",
           "backend", "by_name", "compile", "partitioner", "peak_bytes", "pool_usage", "predict", "run_in_order", "use_pool"]
