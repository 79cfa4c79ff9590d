module github.com/spool-video/spool

go 1.26.0
