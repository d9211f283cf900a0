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


def pod_templates(documents: list[dict]) -> list[dict]:
    """The pods' templates of Deployments and Jobs."""
    return [
        item["spec"]["template"]
        for item in documents
        if item["kind"] in ("Deployment", "Job")
    ]


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
