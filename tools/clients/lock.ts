// Takes, renews and releases a lock with the types that openapi-typescript has made, at the URL that is given.
import createClient from "openapi-fetch";
import type { components, paths } from "./api";

type Acquired = components["schemas"]["Acquired"];

const client = createClient<paths>({ baseUrl: process.argv[2] });

function fail(what: unknown): never {
  throw new Error(JSON.stringify(what));
}

async function main() {
  const params = { path: { space: "default" } };
  const got = await client.POST("/v1/spaces/{space}/acquire", { params, body: { name: "typescript/1", ttl: "30s", owner: "job-7" } });
  if (!got.data || !("token" in got.data)) fail(got.error);
  const lock: Acquired = got.data;
  const renewed = await client.POST("/v1/sessions/renew", { body: { session: lock.session, ttl: "40s" } });
  if (renewed.data?.ttl !== "40s" || !renewed.data.expires_in) fail(renewed);
  const held = await client.POST("/v1/spaces/{space}/acquire", { params, body: { name: "typescript/1" } });
  if (held.error?.code !== "held" || held.error.owner !== "job-7") fail(held);
  const released = await client.POST("/v1/spaces/{space}/release", {
    params,
    body: { name: lock.name, token: lock.token, session: lock.session },
  });
  if (!released.data?.released) fail(released.error);
  const shown = await client.GET("/v1/spaces/{space}/locks/{name}", { params: { path: { space: "default", name: "typescript/1" } } });
  if (shown.data?.holders.length !== 0) fail(shown);
  console.log("openapi-typescript: a lock was taken, renewed and released");
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
