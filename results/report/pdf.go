package report

import (
	"strings"
	"time"

	"codeberg.org/go-fonts/liberation/liberationsansbold"
	"codeberg.org/go-fonts/liberation/liberationsansregular"
	"codeberg.org/go-pdf/fpdf"
	stdfont "golang.org/x/image/font"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
)

// pdfCanvas draws on one page. gonum's own PDF canvas writes the time, whole
// fonts and Western letters only.
type pdfCanvas struct {
	pen
	w, h vg.Length
	doc  *fpdf.Fpdf
}

func newPDF(w, h vg.Length, made time.Time, title string) *pdfCanvas {
	doc := fpdf.NewCustom(&fpdf.InitType{UnitStr: "pt", Size: fpdf.SizeType{Wd: w.Points(), Ht: h.Points()}})
	if made.IsZero() {
		made = time.Unix(0, 0) // the zero time means now to fpdf
	}
	doc.SetCreationDate(made.UTC())
	doc.SetModificationDate(made.UTC())
	doc.SetCatalogSort(true)
	doc.SetProducer("assay", true)
	doc.SetTitle(title, true)
	doc.SetMargins(0, 0, 0)
	doc.SetAutoPageBreak(false, 0)
	doc.AddUTF8FontFromBytes("sans", "", liberationsansregular.TTF)
	doc.AddUTF8FontFromBytes("sans", "B", liberationsansbold.TTF)
	doc.SetLineJoinStyle("round")
	doc.AddPage()
	return &pdfCanvas{w: w, h: h, doc: doc}
}

func (c *pdfCanvas) Size() (w, h vg.Length) { return c.w, c.h }

func (c *pdfCanvas) spot(p vg.Point) (x, y float64) { return p.X.Points(), (c.h - p.Y).Points() }

func (c *pdfCanvas) path(p vg.Path, how string) {
	c.straight()
	for _, part := range p {
		x, y := c.spot(part.Pos)
		switch part.Type {
		case vg.MoveComp:
			c.doc.MoveTo(x, y)
		case vg.LineComp:
			c.doc.LineTo(x, y)
		case vg.CurveComp:
			if len(part.Control) != 2 {
				panic("report: internal error: a curve of another kind")
			}
			x0, y0 := c.spot(part.Control[0])
			x1, y1 := c.spot(part.Control[1])
			c.doc.CurveBezierCubicTo(x0, y0, x1, y1, x, y)
		case vg.CloseComp:
			c.doc.ClosePath()
		default:
			panic("report: internal error: an arc")
		}
	}
	c.doc.DrawPath(how)
}

func (c *pdfCanvas) rgb() (r, g, b int) {
	x, y, z, _ := c.color.RGBA()
	return int(x >> 8), int(y >> 8), int(z >> 8)
}

func (c *pdfCanvas) Stroke(p vg.Path) {
	if c.width <= 0 {
		return
	}
	c.doc.SetLineWidth(c.width.Points())
	var dash []float64
	for _, d := range c.dash {
		dash = append(dash, d.Points())
	}
	c.doc.SetDashPattern(dash, 0)
	c.doc.SetDrawColor(c.rgb())
	c.path(p, "D")
}

func (c *pdfCanvas) Fill(p vg.Path) {
	c.doc.SetFillColor(c.rgb())
	c.path(p, "F")
}

func (c *pdfCanvas) FillString(f font.Face, at vg.Point, s string) {
	bold := ""
	if f.Font.Weight == stdfont.WeightBold {
		bold = "B"
	}
	c.doc.SetFont("sans", bold, f.Font.Size.Points())
	c.doc.SetTextColor(c.rgb())
	x, y := c.spot(c.place(at))
	if c.turn != 0 {
		c.doc.TransformBegin()
		c.doc.TransformRotate(c.degrees(), x, y)
		defer c.doc.TransformEnd()
	}
	c.doc.Text(x, y, strings.Map(func(r rune) rune {
		if r > 0xffff { // the font has none, and fpdf's table ends there
			return '\ufffd'
		}
		return r
	}, s))
}
