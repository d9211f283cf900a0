#SBATCH --job-name={{ name }}
#SBATCH --nodes={{ hosts }}
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task={{ cpus }}
#SBATCH --mem={{ memory }}M
{{ if gpus }}
#SBATCH --gpus-per-node={{ gpus }}
{{ end }}
{{ if partition }}
#SBATCH --partition={{ partition }}
{{ end }}
{{ if account }}
#SBATCH --account={{ account }}
{{ end }}
{{ if time }}
#SBATCH --time={{ time }}
{{ end }}
