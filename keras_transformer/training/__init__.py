"""Loss, schedule, metrics, and the run that `fit` trains."""
