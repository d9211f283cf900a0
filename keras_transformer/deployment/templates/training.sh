#!/bin/bash
# Training on Slurm: sbatch {{ file }}
#
# Folders are those of where it is submitted, which all hosts have to see.
{{ slurm_options }}
# Two minutes before the time is over, hosts are told to stop: they finish the
# step at hand and write a checkpoint.
#SBATCH --signal=TERM@120
# After a machine has failed, the job is put into the queue again.
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output=%x-%j.log

set -eu
{{ environment }}
run={{ run }}

# A run that has begun goes on from its checkpoint.
resume=
if [ -e "$run/manifest.json" ]; then
  resume=--resume
fi
began=$(date +%s)
# One host that fails ends the others.
if srun --kill-on-bad-exit=1 --cpus-per-task={{ cpus }} \
  {{ command }} \
  ${resume:+"$resume"}; then
  exit 0
fi

# Stopped by the limit of time, or a host has died: once more, as long as each
# try gets as far as another checkpoint.
checkpoint="$run/checkpoint.npz"
if [ -e "$checkpoint" ] && [ "$(stat -c %Y "$checkpoint")" -ge "$began" ]; then
  scontrol requeue "$SLURM_JOB_ID"
fi
exit 1
