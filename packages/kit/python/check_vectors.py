"""Runs the test vectors with footbridge_kit.py: python3 check_vectors.py [FOLDER of the vectors].

Prints the number of checks and the name of each failed check; exits with 1 if any check failed.
"""

import json
import sys
from pathlib import Path

from footbridge_kit import make_footer, parse_footer, sign_webhook, strip_footer, verify_webhook

FOLDER = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent.parent / "vectors")
passed = 0
failed = []


def read(name):
    return json.loads((FOLDER / name).read_text(encoding="utf-8"))


def check(name, actual, expected):
    global passed
    if actual == expected:
        passed += 1
    else:
        failed.append(name)


def is_accepted(vector, key, scheme, header):
    trusted = [{"publicKey": key["publicKeyPem"], "scheme": scheme}]
    return verify_webhook(vector["body"], {header: vector["signature"]}, trusted).ok


ed25519 = read("signatures-ed25519.json")
rsa = read("signatures-rsa-sha256.json")
for vectors, scheme, header in [(ed25519, "Ed25519", "X-CRM-Signature"), (rsa, "RSA-SHA256", "X-WH-Signature")]:
    for vector in vectors["valid"]:
        key = vectors["keys"][vector["key"]] if "keys" in vectors else vectors["key"]
        signed = sign_webhook(vector["body"], key["privateKeyPem"])
        check("%s signs: %s" % (scheme, vector["name"]), signed.headers[header], vector["signature"])
        check("%s accepts: %s" % (scheme, vector["name"]), is_accepted(vector, key, scheme, header), True)
    for vector in vectors["invalid"]:
        key = vectors["keys"][vector["key"]] if "keys" in vectors else vectors["key"]
        check("%s rejects: %s" % (scheme, vector["name"]), is_accepted(vector, key, scheme, header), False)

base64 = read("base64.json")
for spelling in base64["spellings"]:
    vector = {"body": base64["body"], "signature": spelling["value"]}
    accepted = is_accepted(vector, ed25519["keys"]["seed"], "Ed25519", "X-CRM-Signature")
    check("base64: " + spelling["name"], accepted, spelling["ok"])

headers = read("headers.json")
for request in headers["requests"]:
    pems = {**ed25519["keys"], "rsa": rsa["key"]}
    trusted = [{**key, "publicKey": pems[key["key"]]["publicKeyPem"]} for key in request["trusted"]]
    verified = verify_webhook(headers["body"], request["headers"], trusted)
    accepted = trusted.index(verified.key) if verified.ok else None
    check("headers: " + request["name"], accepted, request["accepted"])

for vector in read("footers.json")["footers"]:
    footer = parse_footer(vector["message"])
    actual = [footer.text, footer.metadata, footer.form, footer.problem is not None]
    check("footer: " + vector["name"], actual, [vector["text"], vector["metadata"], vector["form"], vector["unreadable"]])
    check("strip: " + vector["name"], strip_footer(vector["message"]), vector["text"])
    for form in ["block", "sentinel"]:
        written = parse_footer(make_footer({"chat_id": 7}, vector["message"], form))
        check("%s: %s" % (form, vector["name"]), [written.text, written.metadata], [vector["message"], {"chat_id": 7}])

print("%d checks passed, %d failed" % (passed, len(failed)))
for name in failed:
    print("failed: " + name)
sys.exit(1 if failed else 0)
