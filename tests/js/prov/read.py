"""Reads a PROV-JSON document from standard input with the library `prov` and says what is in it, by its own model: every relation with the types of both ends, how often."""

import json
import sys
import warnings
from collections import Counter

import prov.model as model

warnings.simplefilter("error")  # what a stricter version would refuse is refused here
text = sys.stdin.read()
document = model.ProvDocument.deserialize(content=text, format="json")
document.unified()  # no two records of one name contradict each other

types = {}
for element in document.get_records(model.ProvElement):
    asserted = sorted(str(kind) for kind in element.get_asserted_types())
    types[str(element.identifier)] = (element.get_type().localpart, *asserted)

relations, dangling = Counter(), []
for relation in document.get_records(model.ProvRelation):
    ends = [str(value) for name, value in relation.formal_attributes if name not in model.PROV_ATTRIBUTE_LITERALS and value]
    dangling += [end for end in ends if end not in types]
    relations[" ".join([relation.get_type().localpart, *(types.get(end, ("?", "?"))[-1] for end in ends)])] += 1

again = model.ProvDocument.deserialize(content=document.serialize(format="json"), format="json")
print(
    json.dumps(
        {
            "elements": Counter(" ".join(kinds) for kinds in types.values()),
            "relations": relations,
            "dangling": dangling,
            "again": again == document,
            "times": [str(one.get_startTime()) for one in document.get_records(model.ProvActivity)],
            "agents": sorted(str(one.identifier) for one in document.get_records(model.ProvAgent)),
        }
    )
)
