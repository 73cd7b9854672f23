package tinymodel

import (
	"encoding/binary"
	"fmt"
)

// GGUF value types, as numbered by the format.
const (
	typeUint32  = 4
	typeInt32   = 5
	typeFloat32 = 6
	typeBool    = 7
	typeString  = 8
	typeArray   = 9
)

// gguf is a model file under construction: metadata and float32 tensors, each
// written in the order in which it was added.
type gguf struct {
	meta    []byte
	entries uint64
	info    []byte
	count   uint64
	data    []byte
}

const (
	ggufVersion = 3
	ggufAlign   = 32
	ggufF32     = 0
)

func appendString(b []byte, s string) []byte {
	return append(binary.LittleEndian.AppendUint64(b, uint64(len(s))), s...)
}

func appendScalar(b []byte, v any) []byte {
	b, err := binary.Append(b, binary.LittleEndian, v)
	if err != nil {
		panic(fmt.Sprintf("tinymodel: internal error: %v", err))
	}
	return b
}

// set adds one metadata entry. The value is a uint32, float32, bool, string,
// []int32 or []string.
func (g *gguf) set(key string, value any) {
	g.entries++
	g.meta = appendString(g.meta, key)
	kind := func(t ...uint32) {
		for _, n := range t {
			g.meta = binary.LittleEndian.AppendUint32(g.meta, n)
		}
	}
	length := func(n int) { g.meta = binary.LittleEndian.AppendUint64(g.meta, uint64(n)) }
	switch v := value.(type) {
	case uint32:
		kind(typeUint32)
		g.meta = appendScalar(g.meta, v)
	case float32:
		kind(typeFloat32)
		g.meta = appendScalar(g.meta, v)
	case bool:
		kind(typeBool)
		g.meta = appendScalar(g.meta, v)
	case string:
		kind(typeString)
		g.meta = appendString(g.meta, v)
	case []int32:
		kind(typeArray, typeInt32)
		length(len(v))
		g.meta = appendScalar(g.meta, v)
	case []string:
		kind(typeArray, typeString)
		length(len(v))
		for _, s := range v {
			g.meta = appendString(g.meta, s)
		}
	default:
		panic(fmt.Sprintf("tinymodel: internal error: metadata %q of type %T", key, value))
	}
}

// add adds a tensor. shape starts with the dimension that is contiguous.
func (g *gguf) add(name string, values []float32, shape ...int) {
	n := 1
	g.count++
	g.info = appendString(g.info, name)
	g.info = binary.LittleEndian.AppendUint32(g.info, uint32(len(shape)))
	for _, d := range shape {
		n *= d
		g.info = binary.LittleEndian.AppendUint64(g.info, uint64(d))
	}
	if n != len(values) {
		panic(fmt.Sprintf("tinymodel: internal error: tensor %s has %d values for shape %v", name, len(values), shape))
	}
	g.info = binary.LittleEndian.AppendUint32(g.info, ggufF32)
	g.info = binary.LittleEndian.AppendUint64(g.info, uint64(len(g.data)))
	g.data = aligned(appendScalar(g.data, values))
}

func aligned(b []byte) []byte {
	for len(b)%ggufAlign != 0 {
		b = append(b, 0)
	}
	return b
}

// bytes is the finished file.
func (g *gguf) bytes() []byte {
	b := binary.LittleEndian.AppendUint32([]byte("GGUF"), ggufVersion)
	b = binary.LittleEndian.AppendUint64(b, g.count)
	b = binary.LittleEndian.AppendUint64(b, g.entries)
	b = append(append(b, g.meta...), g.info...)
	return append(aligned(b), g.data...)
}
