// Command assay measures vision-language models behind local HTTP servers.
package main

import (
	"context"
	"os"

	"assay/harness/cli"
)

func main() {
	ctx, stop := cli.Interruptible(context.Background())
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the process at once
	os.Exit(cli.Main(ctx, os.Args, os.Stdin, os.Stdout, os.Stderr))
}
