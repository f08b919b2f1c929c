// Command plugin is a buf plugin that generates the OpenAPI document of the HTTP API from the .proto files, their
// comments, their HTTP rules and their options. Parts that are not in the .proto files (the scalar types, the answers
// of /healthz and the like) come from base.json.
package main
