package eye

import (
	"bytes"
	"image"
	"image/color"
	"image/jpeg"
	"slices"
)

// Fault is something that a server, or what stands before it, may do to a request.
type Fault struct {
	Name string // one word; "": nothing
	Says string // what happens then
	// What becomes of a request's pictures; nil: they stay.
	pictures func([]image.Image) []image.Image
	// What becomes of what the model gets; nil: it stays.
	prompt func(m *Model, x matrix) matrix
}

// Faults are those that are looked for; the first is none.
func Faults() []Fault {
	each := func(change func(image.Image) image.Image) func([]image.Image) []image.Image {
		return func(in []image.Image) (out []image.Image) {
			for _, img := range in {
				out = append(out, change(img))
			}
			return out
		}
	}
	return []Fault{
		{},
		{Name: "colours", Says: "red and blue are swapped in images", pictures: each(swap)},
		{Name: "size", Says: "images are scaled down to half their sides", pictures: each(half)},
		{Name: "quality", Says: "images are written anew as JPEG of low quality", pictures: each(asJPEG)},
		{Name: "dropped", Says: "images do not reach the model", pictures: func([]image.Image) []image.Image { return nil }},
		{Name: "one", Says: "of several images only the first reaches the model", pictures: func(in []image.Image) []image.Image { return in[:min(1, len(in))] }},
		{Name: "order", Says: "several images reach the model in reverse order", pictures: func(in []image.Image) []image.Image {
			out := slices.Clone(in)
			slices.Reverse(out)
			return out
		}},
		{Name: "template", Says: "the conversation does not begin with <s>", prompt: func(_ *Model, x matrix) matrix { return matrix{x.cols, x.v[x.cols:]} }},
		{Name: "twice", Says: "the conversation begins with <s> twice", prompt: func(m *Model, x matrix) matrix {
			return matrix{x.cols, slices.Concat(m.embed.row(begin), x.v)}
		}},
	}
}

// swap exchanges red and blue.
func swap(img image.Image) image.Image {
	p := pixelsOf(img)
	for i := 0; i < len(p.rgb); i += 3 {
		p.rgb[i], p.rgb[i+2] = p.rgb[i+2], p.rgb[i]
	}
	return p.image()
}

// half is a picture of half the sides, each pixel the mean of four.
func half(img image.Image) image.Image {
	p := pixelsOf(img)
	out := pixels{max(p.w/2, 1), max(p.h/2, 1), nil}
	for y := range out.h {
		for x := range out.w {
			for c := range 3 {
				sum := 0
				for k := range 4 {
					sum += int(p.rgb[3*(min(2*y+k/2, p.h-1)*p.w+min(2*x+k%2, p.w-1))+c])
				}
				out.rgb = append(out.rgb, uint8((sum+2)/4))
			}
		}
	}
	return out.image()
}

// asJPEG is what quality 20 leaves.
func asJPEG(img image.Image) image.Image {
	var file bytes.Buffer
	if err := jpeg.Encode(&file, img, &jpeg.Options{Quality: 20}); err != nil {
		panic("eye: internal error: " + err.Error())
	}
	out, err := jpeg.Decode(&file)
	if err != nil {
		panic("eye: internal error: " + err.Error())
	}
	return out
}

func (p pixels) image() image.Image {
	img := image.NewNRGBA(image.Rect(0, 0, p.w, p.h))
	for i := range p.w * p.h {
		img.SetNRGBA(i%p.w, i/p.w, color.NRGBA{p.rgb[3*i], p.rgb[3*i+1], p.rgb[3*i+2], 255})
	}
	return img
}

// faulty is what the model gets of a request under a fault.
func (m *Model) faulty(e Engine, f Fault, a Ask) matrix {
	if f.pictures != nil {
		var user []Part
		pics := f.pictures(a.Images())
		for _, p := range a.User {
			if p.Image == nil {
				user = append(user, p)
			} else if len(pics) > 0 {
				user = append(user, Part{Image: pics[0]})
				pics = pics[1:]
			}
		}
		a.User = user
	}
	x := m.prompt(e, a)
	if f.prompt != nil {
		x = f.prompt(m, x)
	}
	return x
}
