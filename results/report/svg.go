package report

import (
	"fmt"
	"html"
	"image"
	"image/color"
	"io"
	"math"
	"strconv"
	"strings"

	stdfont "golang.org/x/image/font"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
)

// pen is what a canvas keeps between strokes. Drawings are never moved or
// scaled, and only words are turned, so that every canvas is a few lines.
type pen struct {
	turn  float64 // radians, counterclockwise
	color color.Color
	width vg.Length
	dash  []vg.Length
	stack []pen
}

func (p *pen) SetLineWidth(w vg.Length)               { p.width = w }
func (p *pen) SetLineDash(d []vg.Length, _ vg.Length) { p.dash = d }
func (p *pen) SetColor(c color.Color)                 { p.color = c }
func (p *pen) Push()                                  { p.stack = append(p.stack, *p) }
func (p *pen) Rotate(a float64)                       { p.turn += a }
func (p *pen) Translate(vg.Point)                     { panic("report: internal error: a moved drawing") }
func (p *pen) Scale(float64, float64)                 { panic("report: internal error: a scaled drawing") }
func (p *pen) DrawImage(vg.Rectangle, image.Image) {
	panic("report: internal error: a picture in a drawing")
}

// place undoes the turn for a point that is to be drawn turned.
func (p *pen) place(at vg.Point) vg.Point {
	sin, cos := math.Sincos(p.turn)
	return vg.Point{X: at.X*vg.Length(cos) - at.Y*vg.Length(sin), Y: at.X*vg.Length(sin) + at.Y*vg.Length(cos)}
}

// degrees is the turn of words.
func (p *pen) degrees() float64 { return p.turn * 180 / math.Pi }

// straight refuses a turned line.
func (p *pen) straight() {
	if p.turn != 0 {
		panic("report: internal error: a turned line")
	}
}

func (p *pen) Pop() {
	last := p.stack[len(p.stack)-1]
	last.stack = p.stack[:len(p.stack)-1]
	*p = last
}

// svgCanvas writes SVG without a style attribute, which the page's content
// security policy would refuse.
type svgCanvas struct {
	pen
	w, h    vg.Length
	classes bool
	b       strings.Builder
}

func newSVG(w, h vg.Length, classes bool) *svgCanvas { return &svgCanvas{w: w, h: h, classes: classes} }

func (c *svgCanvas) Size() (w, h vg.Length) { return c.w, c.h }

// short is a length with two decimals at most.
func short(v vg.Length) string {
	s := strconv.FormatFloat(v.Points(), 'f', 2, 64)
	if s = strings.TrimRight(strings.TrimRight(s, "0"), "."); s == "-0" {
		return "0"
	}
	return s
}

func (c *svgCanvas) spot(p vg.Point) string { return short(p.X) + " " + short(c.h-p.Y) }

// paint is the attribute that colours by fill or stroke.
func (c *svgCanvas) paint(by string) string {
	if i, ok := c.color.(ink); ok && c.classes && i.name != "" {
		return fmt.Sprintf(`class="%c-%s"`, by[0], i.name)
	}
	r, g, b, _ := c.color.RGBA()
	return fmt.Sprintf(`%s="#%02x%02x%02x"`, by, r>>8, g>>8, b>>8)
}

func (c *svgCanvas) data(p vg.Path) string {
	c.straight()
	var b strings.Builder
	for _, part := range p {
		switch part.Type {
		case vg.MoveComp:
			b.WriteString("M" + c.spot(part.Pos))
		case vg.LineComp:
			b.WriteString("L" + c.spot(part.Pos))
		case vg.CurveComp:
			if len(part.Control) != 2 {
				panic("report: internal error: a curve of another kind")
			}
			b.WriteString("C" + c.spot(part.Control[0]) + " " + c.spot(part.Control[1]) + " " + c.spot(part.Pos))
		case vg.CloseComp:
			b.WriteString("Z")
		default:
			panic("report: internal error: an arc")
		}
	}
	return b.String()
}

func (c *svgCanvas) Stroke(p vg.Path) {
	if c.width <= 0 {
		return
	}
	dash := ""
	if len(c.dash) > 0 {
		var parts []string
		for _, d := range c.dash {
			parts = append(parts, short(d))
		}
		dash = ` stroke-dasharray="` + strings.Join(parts, " ") + `"`
	}
	fmt.Fprintf(&c.b, "<path %s fill=\"none\" stroke-width=\"%s\"%s d=\"%s\"/>\n", c.paint("stroke"), short(c.width), dash, c.data(p))
}

func (c *svgCanvas) Fill(p vg.Path) {
	fmt.Fprintf(&c.b, "<path %s d=\"%s\"/>\n", c.paint("fill"), c.data(p))
}

// FillString says how long the text is, so that another font than the one that
// was measured takes the same room.
func (c *svgCanvas) FillString(f font.Face, pt vg.Point, s string) {
	if strings.TrimSpace(s) == "" {
		return
	}
	bold := ""
	if f.Font.Weight == stdfont.WeightBold {
		bold = ` font-weight="bold"`
	}
	at, turn := c.place(pt), ""
	if c.turn != 0 {
		turn = fmt.Sprintf(` transform="rotate(%s %s %s)"`, short(vg.Length(-c.degrees())), short(at.X), short(c.h-at.Y))
	}
	fmt.Fprintf(&c.b, "<text x=\"%s\" y=\"%s\" %s font-size=\"%s\"%s%s textLength=\"%s\" lengthAdjust=\"spacingAndGlyphs\">%s</text>\n",
		short(at.X), short(c.h-at.Y), c.paint("fill"), short(f.Font.Size), bold, turn, short(f.Width(s)), html.EscapeString(s))
}

func (c *svgCanvas) writeTo(w io.Writer) (int, error) {
	size := fmt.Sprintf(`width="%spt" height="%spt" `, short(c.w), short(c.h))
	if c.classes {
		size = ""
	}
	return fmt.Fprintf(w, "<svg xmlns=\"http://www.w3.org/2000/svg\" %sviewBox=\"0 0 %s %s\" font-family=\"Liberation Sans, Arial, Helvetica, sans-serif\" aria-hidden=\"true\" focusable=\"false\">\n%s</svg>\n",
		size, short(c.w), short(c.h), c.b.String())
}
