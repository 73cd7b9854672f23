package scene

import (
	"image"
	"image/draw"
	"math"
)

// sheetGap is what lies between two pictures of a sheet, pixels.
const sheetGap = 4

func across(cases int) int { return int(math.Ceil(math.Sqrt(float64(cases)))) }

// SheetSize is the width and height of a Sheet with its last gaps, pixels.
func SheetSize(cases, size int) (w, h int) {
	n := across(cases)
	return n * (size + sheetGap), (cases + n - 1) / n * (size + sheetGap)
}

// Sheet is cases from the first on beside each other, in rows, each of size pixels a
// side.
func Sheet(seed uint64, first, cases, size int) *image.Gray {
	w, h := SheetSize(cases, size)
	all := image.NewGray(image.Rect(0, 0, w-sheetGap, h-sheetGap))
	draw.Draw(all, all.Rect, image.White, image.Point{}, draw.Src)
	for i := range cases {
		at := image.Pt(i%across(cases)*(size+sheetGap), i/across(cases)*(size+sheetGap))
		draw.Draw(all, image.Rectangle{at, at.Add(image.Pt(size, size))}, New(seed, first+i).Render(size), image.Point{}, draw.Src)
	}
	return all
}
