// Both models, with a content policy of our own. No keys.
param location string
param tags object
param token string
param chatModel object
param embeddingModel object
param users array

// Cognitive Services OpenAI User
var user = '5e0bd9bd-7b93-4f28-af87-19fc36ad61bd'

// A company's help desk is asked about self-harm and harassment rules in earnest: those are blocked
// only when severe. Hate is blocked from Low, violence from Medium. Both ways, in and out.
var thresholds = [
  { name: 'Hate', severity: 'Low' }
  { name: 'Violence', severity: 'Medium' }
  { name: 'Selfharm', severity: 'High' }
  { name: 'Sexual', severity: 'High' }
]
var prompt = [
  for one in thresholds: {
    name: one.name
    severityThreshold: one.severity
    blocking: true
    enabled: true
    source: 'Prompt'
  }
]
var completion = [
  for one in thresholds: {
    name: one.name
    severityThreshold: one.severity
    blocking: true
    enabled: true
    source: 'Completion'
  }
]

resource account 'Microsoft.CognitiveServices/accounts@2024-10-01' = {
  name: 'oai-frontdesk-${token}'
  location: location
  tags: tags
  kind: 'OpenAI'
  sku: { name: 'S0' }
  // checkov:skip=CKV_AZURE_134: no keys; whoever has no role is refused (docs/azure.md, Network)
  // checkov:skip=CKV_AZURE_238: it calls nothing, so that it needs no identity
  properties: {
    customSubDomainName: 'oai-frontdesk-${token}'
    disableLocalAuth: true
    publicNetworkAccess: 'Enabled'
  }
}

resource policy 'Microsoft.CognitiveServices/accounts/raiPolicies@2024-10-01' = {
  parent: account
  name: 'frontdesk'
  properties: {
    basePolicyName: 'Microsoft.DefaultV2'
    mode: 'Default'
    contentFilters: concat(prompt, completion, [
      { name: 'Jailbreak', blocking: true, enabled: true, source: 'Prompt' }
    ])
  }
}

resource chat 'Microsoft.CognitiveServices/accounts/deployments@2024-10-01' = {
  parent: account
  name: chatModel.name
  sku: { name: chatModel.sku, capacity: chatModel.capacity }
  properties: {
    model: { format: 'OpenAI', name: chatModel.name, version: chatModel.version }
    raiPolicyName: policy.name
    versionUpgradeOption: 'NoAutoUpgrade'
  }
}

resource embedding 'Microsoft.CognitiveServices/accounts/deployments@2024-10-01' = {
  parent: account
  name: embeddingModel.name
  sku: { name: embeddingModel.sku, capacity: embeddingModel.capacity }
  properties: {
    model: { format: 'OpenAI', name: embeddingModel.name, version: embeddingModel.version }
    versionUpgradeOption: 'NoAutoUpgrade'
  }
  // An account takes one deployment at a time.
  dependsOn: [chat]
}

resource roles 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for principal in users: {
    scope: account
    name: guid(account.id, principal, user)
    properties: {
      principalId: principal
      principalType: 'ServicePrincipal'
      roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', user)
    }
  }
]

output baseUrl string = 'https://${account.properties.customSubDomainName}.openai.azure.com/openai/v1/'
