#!/bin/bash
# Bulk translation on Slurm: bash {{ file }}
#
# That submits an array with a task for each of {{ shards }} shards, and a job
# that joins them in order when all are finished. To be run again where a shard
# failed for good: finished ones are skipped. Folders are those of where it is
# submitted, which all hosts have to see.
{{ slurm_options }}
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output=%x-%j.log

set -eu
{{ environment }}
translate=({{ command }})

case "${1-submit}" in
  submit)
    array=$(sbatch --parsable --array=0-{{ last_shard }}%{{ at_once }} "$0" shard)
    # With several clusters the number has a name behind it.
    sbatch --dependency="afterok:${array%%;*}" --kill-on-invalid-dep=yes \
      "$0" join
    ;;
  shard)
    if srun --cpus-per-task={{ cpus }} \
      "${translate[@]}" --shard "$SLURM_ARRAY_TASK_ID"; then
      exit 0
    fi
    if [ "${SLURM_RESTART_COUNT:-0}" -lt {{ tries }} ]; then
      scontrol requeue "$SLURM_JOB_ID"
    fi
    exit 1
    ;;
  join)
    srun --cpus-per-task={{ cpus }} "${translate[@]}" --join
    ;;
  *)
    echo "usage: bash $0" >&2
    exit 2
    ;;
esac
