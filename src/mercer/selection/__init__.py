"""Choosing parameters: what a machine does with samples that it has not seen."""

from mercer.selection.bounds import LooBound as LooBound
from mercer.selection.bounds import loo_bound as loo_bound
from mercer.selection.leave_one_out import LeaveOneOut as LeaveOneOut
from mercer.selection.leave_one_out import leave_one_out as leave_one_out
