"""Takes, renews and releases a lock with the client that openapi-python-client has made, at the URL that is given."""

import sys

from holdfast_client import Client
from holdfast_client.api.locks import acquire, open_session, release, renew
from holdfast_client.models import (
    Acquired,
    AcquireRequest,
    AcquiredAll,
    OpenedSession,
    OpenSessionRequest,
    ProblemDocument,
    ReleasedLock,
    ReleaseRequest,
    Renewed,
    RenewRequest,
)

client = Client(base_url=sys.argv[1])

got = acquire.sync("default", client=client, body=AcquireRequest(name="python/1", ttl="30s", owner="job-7"))
assert isinstance(got, Acquired) and got.expires_in, got
renewed = renew.sync(client=client, body=RenewRequest(session=got.session, ttl="40s"))
assert isinstance(renewed, Renewed) and renewed.ttl == "40s", renewed
held = acquire.sync("default", client=client, body=AcquireRequest(name="python/1"))
assert isinstance(held, ProblemDocument) and held.code == "held" and held.owner == "job-7", held
released = release.sync(
    "default", client=client, body=ReleaseRequest(name=got.name, token=got.token, session=got.session)
)
assert isinstance(released, ReleasedLock) and released.released, released

opened = open_session.sync(client=client, body=OpenSessionRequest(ttl="30s"))
assert isinstance(opened, OpenedSession), opened
both = acquire.sync("default", client=client, body=AcquireRequest(names=["python/2", "python/1"], session=opened.session))
assert isinstance(both, AcquiredAll) and [one.name for one in both.locks] == ["python/2", "python/1"], both
print("openapi-python-client: a lock was taken, renewed and released")
