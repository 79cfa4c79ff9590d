// A file of its own, because the page's Content-Security-Policy allows no
// inline script. validatorUrl must be null: the default sends the description
// to a service on the internet.
SwaggerUIBundle({
  url: "openapi.json",
  dom_id: "#swagger-ui",
  deepLinking: true,
  validatorUrl: null,
});
