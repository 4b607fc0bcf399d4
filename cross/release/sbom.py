"""The bill of materials, as CycloneDX 1.6 in JSON."""

import base64
import json
import uuid
from datetime import datetime, timezone

from inputs import direct

TYPES = {"model": "machine-learning-model"}
# The namespace of serial numbers: the same contents have the same number.
NAMESPACE = uuid.uuid5(uuid.NAMESPACE_URL, "urn:hob:sbom")


def hashes(digest):
    if not digest:
        return []
    if ":" not in digest:
        return [{"alg": "SHA-256", "content": digest}]
    name, content = digest.split(":", 1)
    return [{"alg": name.upper().replace("SHA", "SHA-"), "content": base64.b64decode(content).hex()}]


def component(part):
    properties = {"hob:kind": part.kind}
    if part.architectures:
        properties["hob:architectures"] = ",".join(part.architectures)
    found = {
        "type": TYPES.get(part.kind, "library"),
        "bom-ref": part.key,
        "name": part.name,
        "version": part.version,
        "description": part.description,
        # What only helped to build is "excluded" in the words of the standard.
        "scope": "required" if part.inside else "excluded",
        "hashes": hashes(part.sha256),
        "licenses": [{"expression": part.licence}] if part.licence else [],
        "purl": part.purl,
        "properties": [{"name": name, "value": value} for name, value in sorted(properties.items())],
    }
    return {key: value for key, value in found.items() if value not in ("", [])}


def dependencies(parts, version):
    known = {part.key for part in parts}
    of_hob = direct() | {part.key for part in parts if part.kind != "crate"}
    rows = [{"ref": f"hob@{version}", "dependsOn": sorted(of_hob & known)}]
    return rows + [{"ref": part.key, "dependsOn": [use for use in part.uses if use in known]} for part in parts]


def write(parts, version, epoch):
    """The document, as text."""
    document = {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "timestamp": datetime.fromtimestamp(epoch, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "tools": {"components": [{"type": "application", "name": "cross/release/sbom.py", "version": version}]},
            "component": {"type": "application", "bom-ref": f"hob@{version}", "name": "hob", "version": version,
                          "licenses": [{"expression": "MIT OR Apache-2.0"}], "purl": f"pkg:generic/hob@{version}"},
        },
        "components": [component(part) for part in parts],
        "dependencies": dependencies(parts, version),
    }
    serial = uuid.uuid5(NAMESPACE, json.dumps(document, sort_keys=True))
    document = {**document, "serialNumber": f"urn:uuid:{serial}"}
    return json.dumps(document, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
