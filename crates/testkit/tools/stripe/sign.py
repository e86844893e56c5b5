"""Signs a webhook's body with Stripe's own library, as `sign.py SECRET SECONDS < body`."""

import sys

import stripe

secret, at = sys.argv[1], int(sys.argv[2])
body = sys.stdin.buffer.read().decode("utf-8")
signature = stripe.WebhookSignature._compute_signature(f"{at}.{body}", secret)
header = f"t={at},v1={signature}"
# The library believes its own signature, whatever the time is.
assert stripe.WebhookSignature.verify_header(body, header, secret, tolerance=None)
print(header)
