// Probe asks a server what no trial is, with pictures of nobody.
//
//  1. A Counter tells how many tokens a server makes of a prompt.
//  2. A Prober tells what a server's caches did to a timed answer, where the server
//     leaves it to time: by what fresh and repeated requests take.
//  3. standIn makes pictures that stand in for those of a trial where only how large
//     they are matters.

package run
