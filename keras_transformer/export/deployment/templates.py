"""The files that a server, Docker and Kubernetes read, as templates.

`$name` is filled in by `server_files`. The flags are TensorFlow Serving's:
labels move by themselves, as the server reads models.config again each
minute. A label may name a version before it is loaded, or the server
wouldn't start with one.
"""

IMAGE = "tensorflow/serving:2.20.0"
GRPC_PORT = 8500
REST_PORT = 8501
METRICS_PATH = "/monitoring/prometheus/metrics"
FLAGS = (
    "--model_config_file=/models/models.config",
    "--model_config_file_poll_wait_seconds=60",
    "--allow_version_labels_for_unavailable_models=true",
    "--enable_batching=true",
    "--batching_parameters_file=/models/batching.config",
    "--monitoring_config_file=/models/monitoring.config",
)

BATCHING = """\
# How the server joins sentences of several requests to one batch.

# Sentences in a batch at most. A request with more is refused, so this is the
# limit of a request, too. Large batches are not split: signatures "tokenize"
# and "align" have axes as long as a batch needs, and parts of different
# lengths could not be joined again.
max_batch_size { value: 64 }
# How long a sentence waits for others, once a worker is free: as long as
# clients that were answered together take to come back.
batch_timeout_micros { value: 5000 }
# Batches that wait; more are answered with 503 at once. 16 of 64 sentences take
# ten seconds at a hundred sentences a second: longer nobody should wait for an
# answer, and REST gives up after 30.
max_enqueued_batches { value: 16 }
# Batches at a time: as many as the machine has cores.
num_batch_threads { value: 4 }
"""

MONITORING = f"""\
# Counters and latencies for Prometheus, on the REST port.
prometheus_config {{
  enable: true
  path: "{METRICS_PATH}"
}}
"""

DOCKERFILE = """\
# One image with the models in it, as Kubernetes wants it:
#   docker build -t $image .
FROM $server

# The versions that models.config serves.
$copies
COPY models.config batching.config monitoring.config /models/

# gRPC and REST.
EXPOSE $grpc_port $rest_port

# Passed on by the server image's own entry point.
CMD [$flags]
"""

COMPOSE = """\
# One machine: docker compose up
services:
  serving:
    image: $server
    command:
$flags
    volumes:
      # This folder: new versions and labels are seen without a restart.
      - .:/models:ro
    ports:
      # Only this machine; a proxy in front speaks to the world.
      - "127.0.0.1:$grpc_port:$grpc_port" # gRPC
      - "127.0.0.1:$rest_port:$rest_port" # REST
    restart: unless-stopped
    healthcheck:
      # The image has bash, and neither curl nor wget.
      test:
        - CMD
        - bash
        - -c
        - >-
          exec 3<>/dev/tcp/127.0.0.1/$rest_port &&
          printf 'GET /v1/models/$model HTTP/1.0\\r\\n\\r\\n' >&3 &&
          grep -q '"AVAILABLE"' <&3
      interval: 10s
      timeout: 5s
      retries: 3
      start_period: 120s
"""

KUBERNETES = """\
# Several machines: kubectl apply -f kubernetes.yaml
# Build the image with the Dockerfile beside this file and push it to a
# registry that the cluster reads; put that name where it says "image:". A new
# version or label is a new image, which replaces the old one pod by pod.
apiVersion: apps/v1
kind: Deployment
metadata:
  name: $name
  labels:
    app: $name
spec:
  # No number of replicas: the autoscaler below sets it.
  selector:
    matchLabels:
      app: $name
  strategy:
    rollingUpdate:
      # No pod goes before its successor is ready.
      maxUnavailable: 0
      maxSurge: 1
  template:
    metadata:
      labels:
        app: $name
      annotations:
        prometheus.io/scrape: "true"
        prometheus.io/port: "$rest_port"
        prometheus.io/path: $metrics_path
    spec:
      # Requests that are running may end.
      terminationGracePeriodSeconds: 60
      containers:
        - name: serving
          image: $image
          ports:
            - name: grpc
              containerPort: $grpc_port
            - name: rest
              containerPort: $rest_port
          resources:
            # The autoscaler measures by the request.
            requests:
              cpu: "2"
              memory: 2Gi
            limits:
              memory: 4Gi
          securityContext:
            allowPrivilegeEscalation: false
            capabilities:
              drop: [ALL]
          # The port opens when the models are loaded and warm: 5 minutes.
          startupProbe:
            httpGet:
              path: /v1/models/$model
              port: rest
            periodSeconds: 5
            failureThreshold: 60
          # Not ready: gets no requests, but may go on with those it has.
          readinessProbe:
            httpGet:
              path: /v1/models/$model
              port: rest
            periodSeconds: 5
            timeoutSeconds: 3
            failureThreshold: 3
          # Dead: restarted. Slower to judge, as a busy server isn't dead.
          livenessProbe:
            httpGet:
              path: /v1/models/$model
              port: rest
            periodSeconds: 15
            timeoutSeconds: 10
            failureThreshold: 4
          lifecycle:
            preStop:
              # Until the load balancers have taken notice.
              exec:
                command: [sleep, "10"]
---
apiVersion: v1
kind: Service
metadata:
  name: $name
spec:
  selector:
    app: $name
  ports:
    - name: grpc
      port: $grpc_port
      targetPort: grpc
    - name: rest
      port: $rest_port
      targetPort: rest
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata:
  name: $name
spec:
  scaleTargetRef:
    apiVersion: apps/v1
    kind: Deployment
    name: $name
  minReplicas: 2
  maxReplicas: 10
  metrics:
    # Translation is bound by the processor.
    - type: Resource
      resource:
        name: cpu
        target:
          type: Utilization
          averageUtilization: 70
  behavior:
    scaleDown:
      # Pods take a while to warm up, so they are not given up at once.
      stabilizationWindowSeconds: 300
---
# Maintenance of the machines leaves at least one pod.
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: $name
spec:
  minAvailable: 1
  selector:
    matchLabels:
      app: $name
"""
