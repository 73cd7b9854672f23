package viewer

// style is page.css, for files that stand alone.
func style() ([]byte, error) { return files.ReadFile("assets/page.css") }
