"""What holds among Kubernetes objects, and no schema says.

Labels against selectors, ports against services, volumes against mounts,
names of accounts and roles, and the standard "restricted" of Pod Security.
"""

import yaml


def load(text: str) -> list[dict]:
    """The objects of a file, none of which is empty."""
    documents = list(yaml.safe_load_all(text))
    assert documents
    assert all(documents)
    return documents


def of_kind(documents: list[dict], kind: str) -> list[dict]:
    return [item for item in documents if item["kind"] == kind]


def one(documents: list[dict], kind: str) -> dict:
    (item,) = of_kind(documents, kind)
    return item


def pod_of(documents: list[dict]) -> dict:
    return one(documents, "Deployment")["spec"]["template"]["spec"]


def container_of(documents: list[dict]) -> dict:
    (container,) = pod_of(documents)["containers"]
    return container


def pod_templates(documents: list[dict]) -> list[dict]:
    """All pods' templates: of Deployments, Jobs, and a JobSet's Jobs."""
    templates = []
    for item in documents:
        spec = item.get("spec", {})
        for job in spec.get("replicatedJobs", []):
            templates.append(job["template"]["spec"]["template"])
        if item["kind"] in ("Deployment", "Job"):
            templates.append(spec["template"])
    return templates


def check(documents: list[dict]):
    """Asserts all of it."""
    names = [(item["kind"], item["metadata"]["name"]) for item in documents]
    assert len(set(names)) == len(names)
    namespaces = {item["metadata"].get("namespace") for item in documents}
    assert len(namespaces) == 1
    templates = pod_templates(documents)
    assert templates
    for template in templates:
        _check_pod(template, documents)
    for item in of_kind(documents, "Service"):
        _check_service(item, templates)
    for kind in ("PodDisruptionBudget", "NetworkPolicy"):
        for item in of_kind(documents, kind):
            spec = item["spec"]
            selector = spec.get("selector") or spec["podSelector"]
            assert _selected(selector["matchLabels"], templates)
    for item in of_kind(documents, "NetworkPolicy"):
        ports = _ports(templates)
        for rule in item["spec"]["ingress"]:
            assert {port["port"] for port in rule["ports"]} <= ports.keys()
    for item in of_kind(documents, "Deployment"):
        labels = item["spec"]["template"]["metadata"]["labels"]
        assert item["spec"]["selector"]["matchLabels"].items() <= labels.items()
    for item in of_kind(documents, "HorizontalPodAutoscaler"):
        target = item["spec"]["scaleTargetRef"]
        assert (target["kind"], target["name"]) in names
    for item in of_kind(documents, "RoleBinding"):
        assert ("Role", item["roleRef"]["name"]) in names
        for subject in item["subjects"]:
            assert (subject["kind"], subject["name"]) in names
            assert subject.get("namespace") in namespaces


def _selected(labels, templates):
    return [
        template
        for template in templates
        if labels.items() <= template["metadata"]["labels"].items()
    ]


def _ports(templates):
    return {
        port["name"]: port["containerPort"]
        for template in templates
        for container in template["spec"]["containers"]
        for port in container.get("ports", [])
    }


def _check_service(service, templates):
    spec = service["spec"]
    selected = _selected(spec["selector"], templates)
    assert selected
    ports = _ports(selected)
    for port in spec["ports"]:
        assert ports[port["targetPort"]] == port["port"]


def _check_pod(template, documents):
    spec = template["spec"]
    accounts = {
        item["metadata"]["name"]
        for item in of_kind(documents, "ServiceAccount")
    }
    if accounts:
        assert spec["serviceAccountName"] in accounts
    else:
        assert spec["automountServiceAccountToken"] is False
    subdomain = spec.get("subdomain")
    if subdomain:
        services = {
            item["metadata"]["name"]: item["spec"]
            for item in of_kind(documents, "Service")
        }
        assert services[subdomain]["clusterIP"] == "None"
    volumes = {volume["name"]: volume for volume in spec["volumes"]}
    assert len(volumes) == len(spec["volumes"])
    containers = [*spec.get("initContainers", []), *spec["containers"]]
    mounted = set()
    for container in containers:
        mounts = container["volumeMounts"]
        mounted |= {mount["name"] for mount in mounts}
        paths = [mount["mountPath"] for mount in mounts]
        assert len(set(paths)) == len(paths)
        _check_restricted(container)
        names = [variable["name"] for variable in container.get("env", [])]
        assert len(set(names)) == len(names)
        assert all(isinstance(v["value"], str) for v in container["env"])
    assert mounted == volumes.keys()
    configs = {
        item["metadata"]["name"] for item in of_kind(documents, "ConfigMap")
    }
    for volume in volumes.values():
        if "configMap" in volume:
            assert volume["configMap"]["name"] in configs
    security = spec["securityContext"]
    assert security["runAsNonRoot"] is True
    assert security["runAsUser"] > 0
    assert security["seccompProfile"] == {"type": "RuntimeDefault"}
    _check_probes(spec["containers"])


def _check_restricted(container):
    security = container["securityContext"]
    assert security["allowPrivilegeEscalation"] is False
    assert security["readOnlyRootFilesystem"] is True
    assert security["capabilities"] == {"drop": ["ALL"]}
    resources = container["resources"]
    assert resources["requests"]["cpu"]
    assert resources["requests"]["memory"]
    assert resources["limits"]["memory"]


def _check_probes(containers):
    for container in containers:
        ports = {port["name"] for port in container.get("ports", [])}
        for name, probe in container.items():
            if name.endswith("Probe"):
                for kind in ("httpGet", "tcpSocket"):
                    if kind in probe:
                        assert probe[kind]["port"] in ports


def check_jobset(jobset: dict):
    """A JobSet, for which there is no schema at hand.

    Its types: kubernetes-sigs/jobset, api/jobset/v1alpha2/jobset_types.go.
    """
    assert jobset["apiVersion"] == "jobset.x-k8s.io/v1alpha2"
    assert jobset.keys() == {"apiVersion", "kind", "metadata", "spec"}
    spec = jobset["spec"]
    assert spec.keys() <= {"failurePolicy", "network", "replicatedJobs"}
    assert spec.get("failurePolicy", {}).keys() <= {"maxRestarts"}
    assert spec.get("network", {}).keys() <= {
        "enableDNSHostnames",
        "publishNotReadyAddresses",
        "subdomain",
    }
    names = []
    for job in spec["replicatedJobs"]:
        assert job.keys() <= {"name", "replicas", "dependsOn", "template"}
        for needed in job.get("dependsOn", []):
            assert needed["name"] in names  # One that stands before it.
            assert needed["status"] in ("Complete", "Ready")
        names.append(job["name"])
        # Pods' names: JOBSET-JOB-0-INDEX-5 characters.
        longest = len(jobset["metadata"]["name"]) + len(job["name"]) + 15
        assert longest <= 63
    assert len(set(names)) == len(names)


def as_jobs(jobset: dict) -> list[dict]:
    """The Jobs that the controller makes, for the schema of Jobs."""
    return [
        {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {
                "name": f"{jobset['metadata']['name']}-{job['name']}-0",
                **job["template"]["metadata"],
            },
            "spec": job["template"]["spec"],
        }
        for job in jobset["spec"]["replicatedJobs"]
    ]
