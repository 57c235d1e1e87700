"""Import every module of the package; print where each lies, and what could not be imported for lack of what else."""

import importlib
import json
import pkgutil

import caesura

files, lacking = {}, {}
for module in pkgutil.walk_packages(caesura.__path__, "caesura."):
    if not module.name.endswith(".__main__"):
        try:
            files[module.name] = importlib.import_module(module.name).__file__
        except ModuleNotFoundError as error:
            if (error.name or "").startswith("caesura"):
                raise
            lacking[module.name] = error.name
print(json.dumps({"version": caesura.__version__, "files": files, "lacking": lacking}))
