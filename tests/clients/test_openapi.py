"""Every address against its own description: schemathesis finds no 5xx and no undocumented answer."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
from daemon import TOKEN, running

HERE = Path(__file__).parent


@pytest.fixture
def hob(tmp_path):
    with running(tmp_path) as url:
        yield url


def document(url):
    return httpx.get(f"{url}/api/v1/openapi.json", headers={"Authorization": f"Bearer {TOKEN}"}).json()


def test_the_document_tells_of_every_route(hob):
    told = document(hob)
    assert told["openapi"] == "3.1.0" and told["info"]["title"] == "Hob"
    # The routes as the source names them: none may be left out of the document.
    source = HERE.parent.parent / "src" / "api"
    text = "".join(path.read_text().split("#[cfg(test)]")[0] for path in source.rglob("*.rs") if "test" not in path.name)
    named = {path.replace("{*", "{") for path in re.findall(r'\.route\(\s*"([^"]+)"', text)} - {"/healthz"}
    assert len(named) > 80
    for path in named:
        whole = [p for p in told["paths"] if p == f"/api/v1{path}".rstrip("/") or p.endswith(path.rstrip("/"))]
        assert whole, path
    for path, methods in told["paths"].items():
        for method, operation in methods.items():
            assert operation["summary"].endswith("."), f"{method} {path}"
            assert any(status.startswith("2") for status in operation["responses"]), f"{method} {path}"
            assert {"401", "403"} <= set(operation["responses"]), f"{method} {path}"
    names = [o["operationId"] for methods in told["paths"].values() for o in methods.values()]
    assert len(set(names)) == len(names)


def test_schemathesis_finds_nothing(hob, tmp_path):
    tool = Path(sys.executable).with_name("st")
    command = [tool, "--config-file", HERE / "schemathesis.toml", "run", f"{hob}/api/v1/openapi.json", "--no-color"]
    ran = subprocess.run(command, env={**os.environ, "HOB_TOKEN": TOKEN}, cwd=tmp_path, capture_output=True, text=True, timeout=900)
    assert ran.returncode == 0, ran.stdout[-12000:] + ran.stderr[-2000:]
    cases = int(re.search(r"(\d+) generated", ran.stdout).group(1))
    operations = sum(len(methods) for methods in document(hob)["paths"].values())
    assert cases > 20 * operations, f"only {cases} cases for {operations} operations:\n{ran.stdout}"
    print(json.dumps({"cases": cases, "operations": operations}))
