// The index. No keys: whoever asks or writes has a role.
param location string
param tags object
param token string
param sku string
param replicas int
param semanticRanker string
param botPrincipal string
param ingestionPrincipal string

// Search Index Data Contributor: read, write and delete documents
var dataContributor = '8ebe5a00-799e-43f5-93ac-243d3dce84a7'
// Search Service Contributor: make and change indexes and aliases
var serviceContributor = '7ca78c08-252a-4471-8644-bb5ff32d4ba0'

var granted = [
  // The bot reads; it writes as well because `/reindex` in chat and uploads are worked on there.
  { principal: botPrincipal, role: dataContributor }
  { principal: ingestionPrincipal, role: dataContributor }
  { principal: ingestionPrincipal, role: serviceContributor }
]

resource search 'Microsoft.Search/searchServices@2023-11-01' = {
  name: 'srch-frontdesk-${token}'
  location: location
  tags: tags
  sku: { name: sku }
  // checkov:skip=CKV_AZURE_208: a parameter; while an update waits, answers go on
  properties: {
    replicaCount: replicas
    partitionCount: 1
    hostingMode: 'default'
    disableLocalAuth: true
    semanticSearch: semanticRanker
    publicNetworkAccess: 'enabled'
  }
}

resource roles 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for one in granted: {
    scope: search
    name: guid(search.id, one.principal, one.role)
    properties: {
      principalId: one.principal
      principalType: 'ServicePrincipal'
      roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', one.role)
    }
  }
]

output endpoint string = 'https://${search.name}.search.windows.net'
