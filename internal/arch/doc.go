// Package arch keeps the shape of the program: which package may import which,
// how long a function or a file may be, and which names and phrases say too little.
// It has tests only. Each failure is a sentence that says why the rule is there.
package arch
