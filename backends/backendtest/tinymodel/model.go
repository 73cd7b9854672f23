// Package tinymodel makes vision-language models of a megabyte whose weights
// mean nothing, so that a real server can be tested on any machine.
//
//  1. VLM, Text and Reader write a model as a GGUF file; the same call gives the
//     same bytes.
//  2. Install loads the first two into a running Ollama through /api/blobs and
//     /api/create, InstallReader the third.
//
// The models read their input (another picture gives another text), follow a
// JSON schema where the server enforces one, and stop by themselves. Their
// words are nonsense: they prove plumbing and timing, never quality.
//
// Random weights alone would emit control tokens and broken UTF-8. One hidden
// dimension therefore carries a constant: every token's embedding sets it and no
// layer writes to it, so the output matrix's column for it adds a fixed amount
// to each token's logit.
package tinymodel

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// Shape of the text model, shared by both files.
const (
	hidden        = 64
	layers        = 2
	headSize      = 16
	heads         = hidden / headSize
	kvHeads       = heads / 2
	feed          = 2 * hidden
	contextTokens = 4096 // tokens
)

// Shape of the vision encoder.
const (
	visionHidden = 64
	visionLayers = 2
	visionHeads  = 4
	visionFeed   = 2 * visionHidden
	patch        = 14 // pixels
	merge        = 2  // patches per token and edge
	longestEdge  = 448
)

const (
	constant     = 4.0 // in hidden dimension 0
	endAppeal    = 1.4 // how readily an answer ends
	answerAppeal = 1.6 // how readily a reader answers
	scoreAppeal  = 2.0 // how readily it writes a 1; half less for each of 2 to 5
	seed         = 31  // of the first forty, the one whose answers end soonest under a schema
)

// weights draws from one seeded stream, in the order of the calls.
type weights struct{ rng *rand.Rand }

// spread is n values, uniform with the given standard deviation. A uniform
// draw scaled by one multiplication is the same on every machine.
func (w weights) spread(n int, deviation float64) []float32 {
	scale := float32(deviation * math.Sqrt(3) / (1 << 20))
	values := make([]float32, n)
	for i := range values {
		values[i] = float32(int32(w.rng.Uint32()>>11)-(1<<20)) * scale
	}
	return values
}

// linear is a layer from in to out values.
func (w weights) linear(in, out int) []float32 {
	return w.spread(in*out, 1/math.Sqrt(float64(in)))
}

// closed is a linear layer that leaves output 0, the constant's place, at zero.
func (w weights) closed(in, out int) []float32 {
	values := w.linear(in, out)
	clear(values[:in])
	return values
}

func ones(n int) []float32 {
	values := make([]float32, n)
	for i := range values {
		values[i] = 1
	}
	return values
}

// VLM is a GGUF file of a model that reads text and images, in the layout of
// Mistral 3, which Ollama's own engine runs.
func VLM() []byte { return seeing("Tiny vision-language model", newVocabulary(endAppeal)) }

// Reader is a GGUF file of a VLM that now and then says an answer between tags,
// <answer>left</answer>, each as one token, and under a schema prefers a score to
// null: drawn, not seen.
func Reader() []byte {
	v := newVocabulary(endAppeal)
	for i := range byte(5) { // the least the most: more than that needs a quote
		v.like('1'+i, scoreAppeal-float32(i)/2)
	}
	for _, a := range []string{"yes", "no", "right", "left", "none", "severe"} {
		v.say("<answer>"+a+"</answer>", answerAppeal)
	}
	return seeing("Tiny reader", v)
}

func seeing(name string, v *vocabulary) []byte {
	const arch = "mistral3"
	g := &gguf{}
	describe(g, arch, name, v)
	key := func(name string, v any) { g.set(arch+"."+name, v) }
	key("image_token_index", uint32(tokenImage))
	key("spatial_merge_size", uint32(merge))
	key("vision.block_count", uint32(visionLayers))
	key("vision.embedding_length", uint32(visionHidden))
	key("vision.feed_forward_length", uint32(visionFeed))
	key("vision.attention.head_count", uint32(visionHeads))
	key("vision.attention.key_length", uint32(visionHidden/visionHeads))
	key("vision.image_size", uint32(longestEdge))
	key("vision.longest_edge", uint32(longestEdge))
	key("vision.patch_size", uint32(patch))
	key("vision.num_channels", uint32(3))
	key("vision.rope.freq_base", float32(10000))
	w := weights{rand.New(rand.NewPCG(seed, 1))}
	addText(g, w, v)
	addVision(g, weights{rand.New(rand.NewPCG(seed, 2))})
	return g.bytes()
}

// Text is a GGUF file of the same text model without eyes, in Llama's layout.
func Text() []byte {
	g := &gguf{}
	v := newVocabulary(endAppeal)
	describe(g, "llama", "Tiny text model", v)
	addText(g, weights{rand.New(rand.NewPCG(seed, 1))}, v)
	return g.bytes()
}

// describe writes the metadata that all models share.
func describe(g *gguf, arch, name string, v *vocabulary) {
	g.set("general.architecture", arch)
	g.set("general.name", name)
	g.set("general.type", "model")
	g.set("general.file_type", uint32(ggufF32))
	g.set("general.quantization_version", uint32(2))
	g.set("tokenizer.ggml.model", "gpt2")
	g.set("tokenizer.ggml.pre", "tekken")
	g.set("tokenizer.ggml.tokens", v.tokens)
	g.set("tokenizer.ggml.token_type", v.classes)
	g.set("tokenizer.ggml.merges", v.merges)
	g.set("tokenizer.ggml.bos_token_id", uint32(tokenBegin))
	g.set("tokenizer.ggml.eos_token_id", uint32(tokenEnd))
	g.set("tokenizer.ggml.unknown_token_id", uint32(tokenUnknown))
	g.set("tokenizer.ggml.padding_token_id", uint32(tokenPadding))
	g.set("tokenizer.ggml.add_bos_token", true)
	g.set("tokenizer.ggml.add_eos_token", false)
	key := func(name string, v any) { g.set(arch+"."+name, v) }
	key("vocab_size", uint32(len(v.tokens)))
	key("context_length", uint32(contextTokens))
	key("embedding_length", uint32(hidden))
	key("block_count", uint32(layers))
	key("feed_forward_length", uint32(feed))
	key("attention.head_count", uint32(heads))
	key("attention.head_count_kv", uint32(kvHeads))
	key("attention.key_length", uint32(headSize))
	key("attention.value_length", uint32(headSize))
	key("attention.layer_norm_rms_epsilon", float32(1e-5))
	key("rope.dimension_count", uint32(headSize))
	key("rope.freq_base", float32(10000))
}

func addText(g *gguf, w weights, v *vocabulary) {
	n := len(v.tokens)
	embedding := w.spread(hidden*n, 1)
	output := w.spread(hidden*n, 2/math.Sqrt(hidden))
	for token, appeal := range v.appeal {
		embedding[token*hidden] = constant
		// The final norm shrinks the constant to about 2.5 of its neighbours' size.
		output[token*hidden] = appeal / 2.5
	}
	g.add("token_embd.weight", embedding, hidden, n)
	g.add("output_norm.weight", ones(hidden), hidden)
	g.add("output.weight", output, hidden, n)
	for l := range layers {
		at := func(name string) string { return fmt.Sprintf("blk.%d.%s.weight", l, name) }
		g.add(at("attn_norm"), ones(hidden), hidden)
		g.add(at("attn_q"), w.linear(hidden, hidden), hidden, hidden)
		g.add(at("attn_k"), w.linear(hidden, kvHeads*headSize), hidden, kvHeads*headSize)
		g.add(at("attn_v"), w.linear(hidden, kvHeads*headSize), hidden, kvHeads*headSize)
		g.add(at("attn_output"), w.closed(hidden, hidden), hidden, hidden)
		g.add(at("ffn_norm"), ones(hidden), hidden)
		g.add(at("ffn_gate"), w.linear(hidden, feed), hidden, feed)
		g.add(at("ffn_up"), w.linear(hidden, feed), hidden, feed)
		g.add(at("ffn_down"), w.closed(feed, hidden), feed, hidden)
	}
}

func addVision(g *gguf, w weights) {
	pixels := patch * patch * 3
	g.add("v.patch_conv.weight", w.linear(pixels, visionHidden), patch, patch, 3, visionHidden)
	g.add("v.encoder_norm.weight", ones(visionHidden), visionHidden)
	for l := range visionLayers {
		at := func(name string) string { return fmt.Sprintf("v.blk.%d.%s.weight", l, name) }
		g.add(at("attn_norm"), ones(visionHidden), visionHidden)
		for _, name := range []string{"attn_q", "attn_k", "attn_v", "attn_output"} {
			g.add(at(name), w.linear(visionHidden, visionHidden), visionHidden, visionHidden)
		}
		g.add(at("ffn_norm"), ones(visionHidden), visionHidden)
		g.add(at("ffn_gate"), w.linear(visionHidden, visionFeed), visionHidden, visionFeed)
		g.add(at("ffn_up"), w.linear(visionHidden, visionFeed), visionHidden, visionFeed)
		g.add(at("ffn_down"), w.linear(visionFeed, visionHidden), visionFeed, visionHidden)
	}
	const merged = visionHidden * merge * merge
	g.add("mm.norm.weight", ones(visionHidden), visionHidden)
	g.add("mm.patch_merger.merging_layer.weight", w.linear(merged, visionHidden), merged, visionHidden)
	g.add("mm.linear_1.weight", w.linear(visionHidden, hidden), visionHidden, hidden)
	g.add("mm.linear_2.weight", w.linear(hidden, hidden), hidden, hidden)
}
