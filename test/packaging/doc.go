// Package packaging checks what is in the folder packaging against the types of
// those who read it: the Kubernetes API and Docker Compose. It is a module of its
// own, so that Spool does not get their dependencies. The alert rules and the dashboard are read with
// the parsers of Prometheus. make test-long SUITE=packaging runs it.
//
// With SPOOL_TEST_CONTAINER=1 it also builds the images and runs the services of
// the compose file in containers, with podman: make test-long SUITE=container.
package packaging
