package tfjs

import (
	"encoding/binary"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// Field numbers, element types and attribute types below are those of
// onnx.proto (ONNX IR version 8, the one of operator set 18).
const (
	irVersion    = 8
	opsetVersion = 18

	elemFloat = 1
	elemUint8 = 2
	elemInt64 = 7

	attrInt    = 2
	attrString = 3
	attrInts   = 7
)

// message is a protobuf message under construction.
type message []byte

func (m *message) integer(field protowire.Number, v int64) {
	*m = protowire.AppendTag(*m, field, protowire.VarintType)
	*m = protowire.AppendVarint(*m, uint64(v)) //nolint:gosec // int64 on the wire is two's complement
}

func (m *message) bytes(field protowire.Number, v []byte) {
	*m = protowire.AppendTag(*m, field, protowire.BytesType)
	*m = protowire.AppendBytes(*m, v)
}

func (m *message) text(field protowire.Number, v string) { m.bytes(field, []byte(v)) }

// modelProto wraps a complete graph.
func modelProto(graph message) []byte {
	var opset, model message
	opset.text(1, "") // the default operator domain
	opset.integer(2, opsetVersion)
	model.integer(1, irVersion)
	model.text(2, "agegate")
	model.bytes(7, graph)
	model.bytes(8, opset)
	return model
}

func nodeProto(op, output string, inputs []string, attributes []attribute) message {
	var n message
	for _, input := range inputs {
		n.text(1, input)
	}
	n.text(2, output)
	n.text(3, output)
	n.text(4, op)
	for _, a := range attributes {
		n.bytes(5, a.proto())
	}
	return n
}

// attribute is one attribute of an ONNX node: a string, an int64 or a []int64.
type attribute struct {
	name  string
	value any
}

func (a attribute) proto() message {
	var m message
	m.text(1, a.name)
	switch v := a.value.(type) {
	case int64:
		m.integer(3, v)
		m.integer(20, attrInt)
	case string:
		m.text(4, v)
		m.integer(20, attrString)
	case []int64:
		for _, i := range v {
			m.integer(8, i)
		}
		m.integer(20, attrInts)
	}
	return m
}

func tensorProto(name string, t tensor) message {
	var m message
	for _, d := range t.shape {
		m.integer(1, d)
	}
	var raw []byte
	if t.ints != nil {
		m.integer(2, elemInt64)
		for _, v := range t.ints {
			raw = binary.LittleEndian.AppendUint64(raw, uint64(v)) //nolint:gosec // two's complement
		}
	} else {
		m.integer(2, elemFloat)
		for _, v := range t.floats {
			raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(v))
		}
	}
	m.text(8, name)
	m.bytes(9, raw)
	return m
}

// levelsProto is the tensor of a constant's levels.
func levelsProto(name string, t tensor) message {
	var m message
	for _, d := range t.shape {
		m.integer(1, d)
	}
	m.integer(2, elemUint8)
	m.text(8, name)
	m.bytes(9, t.levels)
	return m
}

// valueProto declares a graph input or output; a nil shape leaves it to
// ONNX Runtime's shape inference.
func valueProto(name string, shape []int64) message {
	var m, typ, tensorType message
	tensorType.integer(1, elemFloat)
	if shape != nil {
		var dims message
		for _, d := range shape {
			var dim message
			dim.integer(1, d)
			dims.bytes(1, dim)
		}
		tensorType.bytes(2, dims)
	}
	typ.bytes(1, tensorType)
	m.text(1, name)
	m.bytes(2, typ)
	return m
}
