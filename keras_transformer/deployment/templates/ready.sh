# Whether each model has a version that answers. The image has bash, and
# neither curl nor wget.
for model in {{ models }}; do
  exec 3<>/dev/tcp/127.0.0.1/{{ rest_port }} || exit 1
  printf 'GET /v1/models/%s HTTP/1.0\r\n\r\n' "$model" >&3
  grep -q '"AVAILABLE"' <&3 || exit 1
  exec 3>&-
done
