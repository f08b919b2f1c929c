package main

import (
	"bytes"
	"encoding/json"
	"fmt"

	"go.yaml.in/yaml/v3"
)

// yamlOf returns a JSON document as a document of YAML, with its fields in their order. It begins with "---", so that
// several of them are a stream.
func yamlOf(document []byte) ([]byte, error) {
	decoder := json.NewDecoder(bytes.NewReader(document))
	decoder.UseNumber()
	node, err := yamlNode(decoder)
	if err != nil {
		return nil, fmt.Errorf("write the answer as YAML: %w", err)
	}
	text := bytes.NewBufferString("---\n")
	encoder := yaml.NewEncoder(text)
	encoder.SetIndent(2)
	if err := encoder.Encode(node); err != nil {
		return nil, fmt.Errorf("write the answer as YAML: %w", err)
	}
	return text.Bytes(), nil
}

// yamlNode reads one value.
func yamlNode(from *json.Decoder) (*yaml.Node, error) {
	token, err := from.Token()
	if err != nil {
		return nil, err
	}
	switch value := token.(type) {
	case json.Delim:
		return yamlNodes(from, value)
	case json.Number:
		return &yaml.Node{Kind: yaml.ScalarNode, Value: value.String()}, nil
	}
	node := &yaml.Node{}
	return node, node.Encode(token) // a string, a switch or null; strings that look like another type are quoted
}

// yamlNodes reads the values of a list or an object that has begun.
func yamlNodes(from *json.Decoder, begin json.Delim) (*yaml.Node, error) {
	node := &yaml.Node{Kind: yaml.MappingNode}
	if begin == '[' {
		node.Kind = yaml.SequenceNode
	}
	for from.More() {
		value, err := yamlNode(from)
		if err != nil {
			return nil, err
		}
		node.Content = append(node.Content, value) // of an object: keys and values in turn
	}
	_, err := from.Token()
	return node, err
}
