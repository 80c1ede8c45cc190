"use strict";

SwaggerUIBundle({
  dom_id: "#reference",
  url: "/openapi.yaml",
  deepLinking: true,
  defaultModelsExpandDepth: 0,
  docExpansion: "list",
  // Without this the reference would ask a public service to judge the document.
  validatorUrl: null,
});
