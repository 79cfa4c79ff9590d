{{/* The beginning of all names: the release, which is usually called spool. */}}
{{- define "spool.name" -}}
{{- if contains "spool" .Release.Name }}{{ .Release.Name }}{{ else }}{{ printf "%s-spool" .Release.Name }}{{ end -}}
{{- end }}

{{/* Labels by which the pods of a role are found; the role is .role. */}}
{{- define "spool.selector" -}}
app.kubernetes.io/name: spool
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .role }}
{{- end }}

{{/* Labels of every object. */}}
{{- define "spool.labels" -}}
app.kubernetes.io/name: spool
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{/* The secret of a role: one that exists, or ours. */}}
{{- define "spool.secret" -}}
{{- $values := index .root.Values .role -}}
{{- default (printf "%s-%s" (include "spool.name" .root) .role) $values.existingSecret -}}
{{- end }}
