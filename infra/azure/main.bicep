// Frontdesk on Azure: one resource group with all it needs. docs/azure.md goes through it.
targetScope = 'subscription'

@minLength(1)
@maxLength(20)
@description('Names the environment and, with a hash of subscription and region, its resources.')
param environmentName string

@description('Region of everything. It must offer the models below.')
param location string

@description('Image of bot and ingestion, REGISTRY/NAME:TAG. Empty, as the registry is at first: a placeholder, and no jobs.')
param image string = ''

@description('Your wiki: https://SITE.atlassian.net/wiki. Empty: no Confluence.')
param confluenceUrl string = ''

@description('Whose API token it is; empty for a bearer token.')
param confluenceEmail string = ''

@secure()
@description('API token or personal access token that reads the wiki.')
param confluenceToken string = ''

@description('Keys of the spaces to read, by comma; empty: all that the token sees.')
param confluenceSpaces string = ''

@description('Groups that every colleague is in, by comma.')
param confluenceEveryoneGroups string = ''

@secure()
@minLength(20)
@description('Password of the database, of letters and digits. Kept in Key Vault.')
param databasePassword string

@secure()
@minLength(32)
@description('FRONTDESK_ADMIN_TOKEN: signs programs and admins in. Kept in Key Vault.')
param adminToken string

@secure()
@description('SLACK_BOT_TOKEN; empty: no Slack.')
param slackBotToken string = ''

@secure()
@description('SLACK_SIGNING_SECRET.')
param slackSigningSecret string = ''

@description('SLACK_ESCALATION_CHANNEL.')
param slackEscalationChannel string = ''

@description('TEAMS_ESCALATION_CHANNEL (19:…).')
param teamsEscalationChannel string = ''

// Microsoft retires this version on 2027-03-18 (docs/azure-running.md, Later).
@description('Chat model: what is deployed, under which name the bot asks for it. Sku DataZoneStandard keeps data in the EU or US.')
param chatModel object = {
  name: 'gpt-5.4-mini'
  version: '2026-03-17'
  sku: 'GlobalStandard'
  capacity: 50
}

@description('Region of the models; empty: as all else.')
param modelLocation string = ''

// Microsoft retires this model, as all its embedding models, on 2027-04-15 (docs/azure-running.md, Later).
@description('Embedding model. Changing it needs a rebuild of the index (docs/azure-running.md). Sku as above.')
param embeddingModel object = {
  name: 'text-embedding-3-small'
  version: '1'
  sku: 'GlobalStandard'
  capacity: 100
  dimensions: 1536
}

@allowed(['basic', 'standard', 'standard2', 'standard3'])
@description('Tier of the search service.')
param searchSku string = 'basic'

@minValue(1)
@maxValue(12)
@description('Replicas of the search service; its availability agreement needs 2 for reading, 3 for writing.')
param searchReplicas int = 1

@allowed(['disabled', 'free', 'standard'])
@description('Semantic ranker: standard is charged a request; free ends at 1,000 a month.')
param semanticRanker string = 'disabled'

@description('Size of the database server. A replica of the bot holds up to 25 connections; B1ms has 35.')
param databaseSku object = {
  name: 'Standard_B2s'
  tier: 'Burstable'
}

@description('Another availability zone holds a copy of the database.')
param databaseZoneRedundant bool = false

@minValue(1)
@description('Fewest replicas of the bot; with none running, nobody would acknowledge Slack in time.')
param minReplicas int = 1

@minValue(1)
@description('Most replicas of the bot.')
param maxReplicas int = 3

@description('Further settings of the bot, by their names in docs/settings.md; nothing secret.')
param botSettings object = {}

@allowed(['Standard_LRS', 'Standard_ZRS', 'Standard_GRS'])
@description('Where copies of uploaded documents are kept.')
param storageSku string = 'Standard_LRS'

@description('On every resource.')
param tags object = {}

var token = take(toLower(uniqueString(subscription().id, environmentName, location)), 10)
var allTags = union(tags, { 'azd-env-name': environmentName, application: 'frontdesk' })
var readsConfluence = !empty(confluenceUrl) && !empty(confluenceToken)
var hasSlack = !empty(slackBotToken) && !empty(slackSigningSecret)

resource group 'Microsoft.Resources/resourceGroups@2024-03-01' = {
  name: 'rg-frontdesk-${environmentName}'
  location: location
  tags: allTags
}

module monitoring 'modules/monitoring.bicep' = {
  scope: group
  name: 'monitoring'
  params: { location: location, tags: allTags, token: token }
}

module identities 'modules/identities.bicep' = {
  scope: group
  name: 'identities'
  params: { location: location, tags: allTags, token: token }
}

module network 'modules/network.bicep' = {
  scope: group
  name: 'network'
  params: { location: location, tags: allTags, token: token }
}

module registry 'modules/registry.bicep' = {
  scope: group
  name: 'registry'
  params: {
    location: location
    tags: allTags
    token: token
    pullers: [identities.outputs.bot.principalId, identities.outputs.ingestion.principalId]
  }
}

module search 'modules/search.bicep' = {
  scope: group
  name: 'search'
  params: {
    location: location
    tags: allTags
    token: token
    sku: searchSku
    replicas: searchReplicas
    semanticRanker: semanticRanker
    botPrincipal: identities.outputs.bot.principalId
    ingestionPrincipal: identities.outputs.ingestion.principalId
  }
}

module openai 'modules/openai.bicep' = {
  scope: group
  name: 'openai'
  params: {
    location: empty(modelLocation) ? location : modelLocation
    tags: allTags
    token: token
    chatModel: chatModel
    embeddingModel: embeddingModel
    users: [identities.outputs.bot.principalId, identities.outputs.ingestion.principalId]
  }
}

module database 'modules/database.bicep' = {
  scope: group
  name: 'database'
  params: {
    location: location
    tags: allTags
    token: token
    sku: databaseSku
    zoneRedundant: databaseZoneRedundant
    password: databasePassword
    subnetId: network.outputs.databaseSubnetId
    dnsZoneId: network.outputs.databaseZoneId
  }
}

module vault 'modules/vault.bicep' = {
  scope: group
  name: 'vault'
  params: {
    location: location
    tags: allTags
    token: token
    databaseHost: database.outputs.host
    databaseName: database.outputs.name
    databaseUser: database.outputs.user
    databasePassword: databasePassword
    adminToken: adminToken
    confluenceToken: confluenceToken
    slackBotToken: slackBotToken
    slackSigningSecret: slackSigningSecret
    readers: [identities.outputs.bot.principalId, identities.outputs.ingestion.principalId]
  }
}

module environment 'modules/environment.bicep' = {
  scope: group
  name: 'environment'
  params: {
    location: location
    tags: allTags
    token: token
    workspaceName: monitoring.outputs.workspaceName
    subnetId: network.outputs.applicationSubnetId
    storageSku: storageSku
  }
}

var shared = {
  AZURE_SEARCH_ENDPOINT: search.outputs.endpoint
  AZURE_SEARCH_SEMANTIC: semanticRanker == 'disabled' ? 'false' : 'true'
  OPENAI_BASE_URL: openai.outputs.baseUrl
  EMBEDDING_MODEL: embeddingModel.name
  EMBEDDING_DIMENSIONS: string(embeddingModel.dimensions)
}
// Without its token the address alone would be refused at the start.
var wiki = readsConfluence ? {
  CONFLUENCE_URL: confluenceUrl
  CONFLUENCE_EMAIL: confluenceEmail
  CONFLUENCE_SPACES: confluenceSpaces
  CONFLUENCE_EVERYONE_GROUPS: confluenceEveryoneGroups
} : {}

module bot 'modules/bot.bicep' = {
  scope: group
  name: 'bot'
  params: {
    location: location
    tags: union(allTags, { 'azd-service-name': 'bot' })
    environmentId: environment.outputs.id
    environmentDomain: environment.outputs.domain
    volume: environment.outputs.volume
    image: image
    registry: registry.outputs.server
    identity: identities.outputs.bot
    vaultUri: vault.outputs.uri
    readsConfluence: readsConfluence
    hasSlack: hasSlack
    minReplicas: minReplicas
    maxReplicas: maxReplicas
    variables: union(botSettings, shared, wiki, {
      OPENAI_MODEL: chatModel.name
      SLACK_ESCALATION_CHANNEL: slackEscalationChannel
      TEAMS_ESCALATION_CHANNEL: teamsEscalationChannel
    })
  }
}

module ingestion 'modules/ingestion.bicep' = if (readsConfluence && !empty(image)) {
  scope: group
  name: 'ingestion'
  params: {
    location: location
    tags: allTags
    environmentId: environment.outputs.id
    volume: environment.outputs.readOnlyVolume
    image: image
    registry: registry.outputs.server
    identity: identities.outputs.ingestion
    vaultUri: vault.outputs.uri
    variables: union(shared, wiki)
  }
}

module registration 'modules/registration.bicep' = {
  scope: group
  name: 'registration'
  params: {
    tags: allTags
    token: token
    identity: identities.outputs.bot
    endpoint: '${bot.outputs.url}/api/messages'
    workspaceId: monitoring.outputs.workspaceId
  }
}

output AZURE_CONTAINER_REGISTRY_ENDPOINT string = registry.outputs.server
output AZURE_RESOURCE_GROUP string = group.name
output BOT_URL string = bot.outputs.url
output SLACK_EVENTS_URL string = '${bot.outputs.url}/slack/events'
output MICROSOFT_APP_ID string = identities.outputs.bot.clientId
output AZURE_SEARCH_ENDPOINT string = search.outputs.endpoint
