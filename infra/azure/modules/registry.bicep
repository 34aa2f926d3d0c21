// The image; only the two identities may pull it.
param location string
param tags object
param token string
param pullers array

// AcrPull
var pull = '7f951dda-4ed3-4680-a7ca-43fe172d538d'

resource registry 'Microsoft.ContainerRegistry/registries@2023-07-01' = {
  name: 'crfrontdesk${token}'
  location: location
  tags: tags
  sku: { name: 'Standard' }
  // checkov:skip=CKV_AZURE_139: private endpoints need Premium; nobody pulls without a role
  // checkov:skip=CKV_AZURE_166: quarantine needs Premium and something that scans
  properties: {
    adminUserEnabled: false
    anonymousPullEnabled: false
  }
}

resource roles 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for principal in pullers: {
    scope: registry
    name: guid(registry.id, principal, pull)
    properties: {
      principalId: principal
      principalType: 'ServicePrincipal'
      roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', pull)
    }
  }
]

output server string = registry.properties.loginServer
