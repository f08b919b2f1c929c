// Package openapi has the OpenAPI document of the HTTP API. Its folder plugin generates the document from the .proto
// files of package schema, with tools/generate.
package openapi

import _ "embed"

// Document is the OpenAPI document, as JSON.
//
//go:embed openapi.json
var Document []byte
