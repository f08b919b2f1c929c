// Command plugin is a plugin of buf: it makes the OpenAPI document of the HTTP API from the .proto files, their comments,
// their rules for HTTP and their options. What is no call or message of theirs (the scalar types, the answers of
// /healthz and its like) stands in base.json, which is a part of the document.
package main
