package viewer

// Style is page.css, for files that stand alone.
func Style() ([]byte, error) { return files.ReadFile("assets/page.css") }
